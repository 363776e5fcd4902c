import * as jinja from "@huggingface/jinja";
import * as tokenizers from "@huggingface/tokenizers";

// Both packages ship declarations whose imports have no extensions, which NodeNext does not follow: everything in them would
// be `any` or missing. So the parts we use are typed here, and nowhere else.

/** A model: one pre-tokenized word to the strings of its tokens. */
export interface PackageModel {
  (words: readonly string[]): string[];
  readonly tokens_to_ids: ReadonlyMap<string, number>;
  readonly unk_token_id: number | undefined;
}

export type PackageNormalizer = (text: string) => string;

interface TokenizersPackage {
  BPE: new (config: object) => PackageModel;
  Unigram: new (config: object, eosToken?: string) => PackageModel;
  WordPiece: new (config: object) => PackageModel;
  PrecompiledNormalizer: new (config: object) => PackageNormalizer;
  SplitPreTokenizer: new (config: object) => { readonly pattern: RegExp };
}

export const huggingFaceTokenizers = tokenizers as unknown as TokenizersPackage;

/** A value while a template runs. `value` is a Map of values for objects, an array of values for lists. */
export interface TemplateValue {
  readonly type: string;
  readonly value: unknown;
}

/** A node of a parsed template; what it holds depends on its type. */
export interface TemplateNode {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface TemplateToken {
  readonly type: string;
  readonly value: string;
}

export interface TemplateEnvironment {
  set(name: string, value: unknown): TemplateValue;
}

interface JinjaPackage {
  Environment: new () => TemplateEnvironment;
  Interpreter: new (
    environment: TemplateEnvironment,
  ) => {
    run(program: TemplateNode): TemplateValue;
    evaluate(node: TemplateNode | undefined, environment: TemplateEnvironment): TemplateValue;
  };
  tokenize(source: string, options: { lstrip_blocks: boolean; trim_blocks: boolean }): TemplateToken[];
  parse(tokens: readonly TemplateToken[]): TemplateNode;
}

export const huggingFaceJinja = jinja as unknown as JinjaPackage;
