/** `writeArguments` as Jinja: sets `ludus.call` to the name and the arguments of `call` by the schema of its tool. */
export const positionalCall = `{%- set ludus.spec = none %}
{%- for tool in tools or [] %}
    {%- if (tool.function or tool).name == call.name %}
        {%- set ludus.spec = tool.function or tool %}
    {%- endif %}
{%- endfor %}
{%- set ludus.call = '' %}
{%- set ludus.skipped = '' %}
{%- set ludus.fits = ludus.spec is not none and call.arguments is mapping %}
{%- if ludus.fits %}
    {%- set properties = ludus.spec.parameters.properties or {} %}
    {%- for name in call.arguments %}
        {%- if name not in properties %}
            {%- set ludus.fits = false %}
        {%- endif %}
    {%- endfor %}
    {%- for name, schema in properties.items() %}
        {%- if name not in call.arguments %}
            {%- set ludus.skipped = ludus.skipped + ' _' %}
        {%- else %}
            {%- set value = call.arguments[name] %}
            {%- set kind = 'json' %}
            {%- if schema.enum %}
                {%- set kind = 'string' if schema.enum[0] is string else 'json' %}
            {%- elif schema.type in ['integer', 'number'] %}
                {%- set kind = 'number' %}
            {%- elif schema.type in ['string', 'boolean'] %}
                {%- set kind = schema.type %}
            {%- endif %}
            {%- set ludus.word = none %}
            {%- if kind == 'string' and value is string %}
                {%- set ends = '\\n' not in value if loop.last else (value.split() | length) == 1 %}
                {%- if value and value != '_' and value[0] != '"' and value == value.strip() and ends %}
                    {%- set ludus.word = value %}
                {%- else %}
                    {%- set ludus.word = value | tojson %}
                {%- endif %}
            {%- elif kind == 'boolean' and value is boolean %}
                {%- set ludus.word = '1' if value else '0' %}
            {%- elif kind == 'number' and value is number and value is not boolean %}
                {%- set ludus.word = value | tojson %}
            {%- elif kind == 'json' %}
                {%- set ludus.word = value | tojson(separators=[',', ':']) %}
            {%- endif %}
            {%- if ludus.word is none %}
                {%- set ludus.fits = false %}
            {%- else %}
                {%- set ludus.call = ludus.call + ludus.skipped + ' ' + ludus.word %}
                {%- set ludus.skipped = '' %}
            {%- endif %}
        {%- endif %}
    {%- endfor %}
{%- endif %}
{%- if not ludus.fits %}
    {%- set ludus.call = call.arguments if call.arguments is string else (call.arguments | tojson(separators=[',', ':'])) %}
{%- endif %}
{%- set ludus.call = call.name + ludus.call %}
`;
