import { fileWriter, parquetWriteRows, type SchemaElement } from "hyparquet-writer";

/** A column: a plain type, a list of one, or a list of structures. `?` after a type: there may be nothing. */
export type ColumnType =
  | PlainType
  | `${PlainType}?`
  | readonly [PlainType]
  | readonly [Readonly<Record<string, PlainType | `${PlainType}?`>>];
export type PlainType = "text" | "int32" | "float" | "double" | "boolean";
export type Columns = Readonly<Record<string, ColumnType>>;

const plainTypes: Readonly<Record<PlainType, Pick<SchemaElement, "type" | "converted_type">>> = {
  text: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  int32: { type: "INT32" },
  float: { type: "FLOAT" },
  double: { type: "DOUBLE" },
  boolean: { type: "BOOLEAN" },
};

/** Episodes are large: so many are held in memory at a time. */
const rowGroupSize = 500;

/** Writes rows as they come. */
export async function writeParquet(
  filename: string,
  columns: Columns,
  rows: AsyncIterable<Readonly<Record<string, unknown>>>,
): Promise<void> {
  const schema = [
    { name: "root", num_children: Object.keys(columns).length },
    ...Object.entries(columns).flatMap(elements),
  ];
  await parquetWriteRows({
    writer: fileWriter(filename),
    schema,
    rowGroupSize,
    rows,
    columns: Object.keys(columns).map((name) => ({ name })),
  });
}

function elements([name, type]: readonly [string, ColumnType]): SchemaElement[] {
  if (typeof type === "string") return [plain(name, type)];
  const [item] = type;
  const inner: SchemaElement[] =
    typeof item === "string"
      ? [plain("element", item)]
      : [
          { name: "element", repetition_type: "REQUIRED", num_children: Object.keys(item).length },
          ...Object.entries(item).map(([field, fieldType]) => plain(field, fieldType)),
        ];
  return [
    { name, repetition_type: "OPTIONAL", converted_type: "LIST", num_children: 1 },
    { name: "list", repetition_type: "REPEATED", num_children: 1 },
    ...inner,
  ];
}

function plain(name: string, type: PlainType | `${PlainType}?`): SchemaElement {
  const isOptional = type.endsWith("?");
  // the check is the line above
  const bare = (isOptional ? type.slice(0, -1) : type) as PlainType;
  return { name, ...plainTypes[bare], repetition_type: isOptional ? "OPTIONAL" : "REQUIRED" };
}
