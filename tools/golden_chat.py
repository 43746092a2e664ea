#!/usr/bin/env python3
"""What Transformers renders of chat templates: tests/goldens/chat/.

Needs transformers and jinja2.

constructs.json  small templates, one construct each: {"template", "text"}, or {"template", "refused": true}
chats.json       templates in the forms of model families, with messages: {"template", "variables", "text",
                 "generated"}; the ranges of {% generation %} blocks count characters
"""
import json
import os

from transformers.utils import chat_template_utils as chat

OUT = "tests/goldens/chat"

VARIABLES = {
    "s": "Hello Wörld, ßtraße  ", "n": 7, "x": 2.5, "big": 9007199254740993, "t": True, "nothing": None,
    "list": [3, 1, 2], "words": ["b", "A", "c", "a"], "empty": [],
    "d": {"b": 1, "a": "two", "items": [1, 2], "c": None, "é": 1.0},
    "rows": [{"name": "x", "k": 2, "in": {"y": 1}}, {"name": "Y", "k": 1}, {"name": "x", "k": 3, "in": {"y": 2}}],
    "text": "line one\n  line two\n\nline <four> & 'q' \"d\"\n", "tabs": "a\tb\u00a0c\u2028d",
}

# Parted by "  ;  ".
EXPRESSIONS = """
n + 1  ;  n - 10  ;  n * 3  ;  n / 2  ;  n // 2  ;  n % 4  ;  -n // 2  ;  -n % 4  ;  n ** 2  ;  2 ** -1
2 ** 3 ** 2  ;  -2 ** 2  ;  x + 1  ;  x // 1  ;  -x % 2  ;  7.0 / 2  ;  1e3  ;  1e20  ;  1.5e-7  ;  1_000
0x1F  ;  0b101  ;  0o17  ;  n / 0  ;  n % 0  ;  1 == 1.0  ;  true == 1  ;  'a' + 'b'  ;  'a' ~ 1 ~ none
'a' * 3  ;  3 * 'ab'  ;  [1] + [2]  ;  [1] * 2  ;  (1,) + (2,)  ;  'a' + 1  ;  s + n  ;  [] + ()  ;  1 + none
n > 3 and x < 3  ;  n > 3 or missing.x  ;  not n  ;  not not n  ;  1 < 2 < 3  ;  3 > 2 > 2  ;  'a' < 'b'
'a' < 1  ;  [1, 2] < [1, 3]  ;  1 in list  ;  9 not in list  ;  'ell' in s  ;  'b' in d  ;  1 in 'abc'
'x' in missing  ;  none in [none]  ;  2 in (1, 2)  ;  3 in range(4)  ;  not 1 in list  ;  'a' if n else 'b'
'a' if missing  ;  ('a' if missing) is defined  ;  n if n > 3 else x if x else 0  ;  none  ;  true  ;  False
None  ;  missing  ;  list  ;  d  ;  (1, 2)  ;  (1,)  ;  ()  ;  {}  ;  [none, true, 1.5, 'x']
{'a': [1, {'b': "it's"}]}  ;  'tab\\tnew\\nquote\\'\\\\'  ;  ['tab\\tnew\\nquote\\'\\\\']
'\\u00e9\\x41\\101\\q'  ;  "a" 'b'  ;  ["é\\u200b\\u2028"]  ;  ['\\x7f\\x01']  ;  s[0]  ;  s[-3]
s[100] is defined  ;  s[1:4]  ;  s[::-1]  ;  s[-6:]  ;  s[:-2]  ;  s[::2]  ;  s[5:1:-1]  ;  s[7:9]  ;  s[100:]
list[1:]  ;  list[::-1]  ;  list[0]  ;  list[-1]  ;  list[5] is defined  ;  (1, 2, 3)[1]  ;  list['x'] is defined
d['a']  ;  d.a  ;  d['items']  ;  d.missing is defined  ;  d['nope'] is defined  ;  d.get('a')
d.get('z')  ;  d.get('z', 5)  ;  d.keys()  ;  d.values()  ;  d.items()  ;  d.keys() | list  ;  n.x is defined
missing.x  ;  missing['x']  ;  missing()  ;  n()  ;  s.nope is defined  ;  s.upper is defined
s['upper'] is defined  ;  nothing.x is defined  ;  list.append is defined  ;  list.append(1)  ;  d.update({})
d.pop('a')  ;  s.__class__ is defined  ;  list.count(1)  ;  list.index(2)  ;  list.index(9)  ;  d | length
list | length  ;  s | length  ;  missing | length  ;  n | length  ;  empty | length  ;  range(5) | length
none | length  ;  s | trim  ;  s | trim('H ')  ;  'xxaxx' | trim('x')  ;  n | trim  ;  missing | trim
s | upper  ;  s | lower  ;  s | title  ;  s.title()  ;  s | capitalize  ;  'ßeta ﬁn' | upper  ;  'ÀÉ' | lower
"it's o'neil-smith (a) [b]" | title  ;  "it's o'neil-smith" | string  ;  n | upper  ;  s.strip()
s.lstrip('H')  ;  s.rstrip()  ;  '  a b  c '.split()  ;  'a,b,,c'.split(',')  ;  'a,b,c'.split(',', 1)
'a b c '.rsplit(none, 1)  ;  'a b c '.split(none, 1)  ;  'a,b,c'.rsplit(',', 1)  ;  'a'.split('')  ;  ''.split()
''.split(',')  ;  text.splitlines()  ;  text.splitlines(true)  ;  s.startswith('He')
s.startswith(('x', 'He'))  ;  s.endswith('  ')  ;  s.replace('l', 'L')  ;  s.replace('l', 'L', 1)
'abc'.replace('', '-')  ;  s | replace('l', 'L')  ;  s | replace('l', 'L', 1)  ;  'abc' | replace('', '-', 2)
s.find('l')  ;  s.find('z')  ;  s.rfind('l')  ;  s.index('z')  ;  s.count('l')  ;  'ab'.ljust(5) ~ '|'
'ab'.rjust(5, '.')  ;  'ab'.center(7, '*')  ;  'abc'.center(8, '*')  ;  '7'.zfill(3)  ;  '-7'.zfill(4)
'a-b-c'.partition('-')  ;  'a-b-c'.rpartition('-')  ;  'abc'.partition('-')  ;  'abc'.removeprefix('a')
'abc'.removesuffix('c')  ;  ', '.join(words)  ;  ', '.join(list)  ;  '12'.isdigit()  ;  'ab1'.isalnum()
'ab'.isalpha()  ;  ' '.isspace()  ;  'AB'.isupper()  ;  'ab'.islower()  ;  ''.isdigit()  ;  'x'.casefold()
'{} and {}'.format(1, 'b')  ;  '{1}{0}'.format('a', 'b')  ;  '{a:>5}|'.format(a='x')  ;  '{:05d}'.format(42)
'{:.2f}'.format(3.14159)  ;  '{:,}'.format(1234567)  ;  '{:x} {:#x} {:b}'.format(255, 255, 5)
'{0[a]} {0[items][1]}'.format(d)  ;  '{!r}'.format('a')  ;  '{{}}'.format()  ;  '{}'.format()
'{:+}'.format(5)  ;  '{:^7}'.format('ab')  ;  '%s is %d' % ('a', 3)  ;  '%05.1f' % 3.14159  ;  '%x %%' % 255
'%-5s|' % 'a'  ;  '%(a)s' % d  ;  '%s' % none  ;  '%s %s' % 'a'  ;  '%5s' | format('ab')
'%s-%s' | format(1, 2)  ;  d | tojson  ;  list | tojson  ;  s | tojson  ;  text | tojson  ;  none | tojson
d | tojson(indent=2)  ;  d | tojson(indent=2, sort_keys=true)  ;  tabs | tojson  ;  d | tojson(ensure_ascii=true)
rows | tojson(indent=1)  ;  d | tojson(separators=(',', ':'))  ;  missing | tojson  ;  [] | tojson(indent=2)
{} | tojson  ;  '😀' | tojson(true)  ;  {1: 2, none: 3, true: 4, 1.5: 5} | tojson  ;  (1, 2) | tojson
[1.0, 1e16, 1e-5, 0.1] | tojson  ;  big | tojson  ;  range(3) | tojson  ;  d.items() | tojson  ;  words | join
words | join(', ')  ;  list | join('-')  ;  rows | join(',', attribute='name')  ;  missing | join(',')
[1, none, 'x'] | join('|')  ;  s | join('.')  ;  missing | default('x')  ;  missing | default
nothing | default('x')  ;  nothing | default('x', true)  ;  ''  ;  d('e', boolean=true)  ;  d.z | default(n)
words | first  ;  words | last  ;  empty | first is defined  ;  list | max  ;  list | min  ;  list | sum
rows | sum(attribute='k')  ;  list | sum(start=10)  ;  [] | max is defined  ;  words | sort
words | sort(reverse=true)  ;  words | sort(case_sensitive=true)  ;  rows | sort(attribute='k')
rows | sort(attribute='name,k')  ;  [1, 'a'] | sort  ;  words | unique | list  ;  words | map('upper') | list
rows | map(attribute='name') | list  ;  rows | map(attribute='in.y', default=0) | list
rows | map(attribute='in.y') | list  ;  words | select('equalto', 'b') | list  ;  [0, 1, '', 'a'] | select | list
[0, 1] | reject | list  ;  list | select('odd') | list  ;  rows | selectattr('in') | list | length
rows | selectattr('k', 'gt', 1) | map(attribute='k') | list  ;  rows | rejectattr('name', 'equalto', 'x') | list
nothing | selectattr('x') | list  ;  [1, none] | select('none') | list  ;  list | reverse | list
'abc' | reverse  ;  d | dictsort  ;  d | dictsort(by='value')  ;  {'b': 1, 'A': 2} | dictsort
{'b': 1, 'A': 2} | dictsort(true)  ;  {'b': 1, 'A': 2} | dictsort(reverse=true)  ;  d  ;  list  ;  s
list | first  ;  d | items | list  ;  missing | items | list  ;  list(5)  ;  5  ;  list
[[1, 2], [3]] | map('first') | list
rows | map('tojson') | join('\\n')
'42' | int  ;  '4x' | int  ;  '4x' | int(9)  ;  '4.7' | int  ;  3.9 | int  ;  'ff' | int(0, 16)  ;  true | int
'1.5' | float  ;  'x' | float  ;  'x' | float(2)  ;  none | int  ;  ' 12 ' | int  ;  -3 | abs
2.567 | round(1)  ;  2.5 | round  ;  3.5 | round  ;  7 | round  ;  2.1 | round(0, 'ceil')
2.9 | round(method='floor')  ;  5 | string  ;  5 | string is string  ;  text | indent  ;  text | indent(2, true)
text | indent('> ', first=true, blank=true)  ;  'a' | indent  ;  text | indent(first=true)
'<a>' | safe
'<a>' ~ (rows | tojson | safe) ~ '</a>'  ;  ('x' | safe) | upper
('x' | safe) is string  ;  ('x' | safe) | tojson  ;  missing is defined  ;  n is defined  ;  nothing is none
nothing is not none  ;  s is string  ;  n is string  ;  n is number  ;  t is number  ;  t is boolean
x is float  ;  n is integer  ;  t is integer  ;  d is mapping  ;  list is mapping  ;  list is sequence
d is sequence  ;  s is sequence  ;  n is sequence  ;  list is iterable  ;  s is iterable  ;  n is iterable
missing is iterable  ;  nothing is iterable  ;  n is odd  ;  n is even  ;  n is divisibleby 7
n is divisibleby(2)  ;  t is true  ;  t is false  ;  n is eq 7  ;  n is equalto(7)  ;  n is ne 7  ;  n is gt 3
n is le 7  ;  'a' is in ['a']  ;  'a' is not in ['a']  ;  'abc' is lower  ;  'ABC' is upper  ;  range is callable
n is callable  ;  nothing is sameas none  ;  'upper' is filter  ;  'nofilter' is filter  ;  'odd' is test
n is odd and n > 3  ;  n is not odd or true  ;  n is nothing_such
n | nothing_such | nothing_such(1)  ;  range(3)  ;  range(1, 10, 3)  ;  range(5, 0, -2) | list
range(3) | list  ;  range(200000) | length  ;  dict(a=1, b=2)  ;  dict({'a': 1}, b=2)  ;  raise_exception('no')
namespace(a=1).a  ;  namespace({'a': 2}).a  ;  namespace(a=1).b is defined  ;  n | string | length  ;  -n | abs
- n  ;  +n  ;  -(n)  ;  -x  ;  [n, -n] | max  ;  d.a.b.c is defined  ;  rows[0].name  ;  rows[0]['in'].y
rows[1]['in'] is defined  ;  rows[-1].k  ;  (rows | first).name  ;  (list | sort)[0]  ;  s.split(',')[0]
s.upper().lower()  ;  [list, list] == [[3, 1, 2], [3, 1, 2]]  ;  list == (3, 1, 2)  ;  {'a': 1} == {'a': 1.0}
missing == missing2  ;  none == missing  ;  '' == missing  ;  s and 'yes'  ;  '' or 'no'  ;  0 or none
[] and 1  ;  (1 if t) ~ (2 if not t)  ;  5 is not none and 3  ;  strftime_now('%%')  ;  strftime_now('')
[1, 2,]  ;  {'a': 1,}  ;  (1, 2,)  ;  [*list]  ;  n if t else  ;  {{  ;  1 +  ;  a b
d.1  ;  list.0  ;  'a'.0  ;  words | map('nope') | list
range(5)[1:3]  ;  'a' % missing  ;  'a' % [1]  ;  'a' % 1  ;  missing | last is defined  ;  [[1]] | unique | list
d[1:]  ;  missing[1:]  ;  (1, 2, 3)[::2]  ;  'ab'[true]  ;  list[false]  ;  [1, 2] is in [[1, 2]]  ;  {(1, 2): 3}[(1, 2)]
""".strip()

TEMPLATES = [
    "a\n{% if true %}\nb\n{% endif %}\nc\n", "a\n  {% if true %}  \n  b\n  {% endif %}\nc\n\n", "  {{ n }}  \n", " {%- if true -%} \n x \n {%- endif -%} y",
    "a {%+ if true %} b {% endif +%}\n c", "a\n  {%+ if true +%}\n b{% endif %}", "{# c #}\na\n  {# d #}\nb {#- e -#} c", "{#-\n#}\n\nx{#+ y +#}\nz", "x  {{- n -}}  y", "\r\na\r\nb\r",
    "{% raw %}{{ x }} {% y %}{% endraw %}z", " {%- raw -%} {{ a }} {%- endraw -%} z", "  {% raw %}\n {{ a }}\n  {% endraw %}\nz", "{{ '}}' }}{{ '{%' }}{{ {'a': {'b': 1}} }}", "{{ {'a':{}}}}", "a{{",
    "a{%", "{% if %}", "{% nope %}", "{% if true %}", "{% endif %}", "{% for x in list %}{% endif %}", "{{ 'a }}", "{{ a ! b }}", "{{ (1 }}", "{{ 1) }}", "{% set %}", "{% set 1 = 2 %}",
    "{% for x in list %}{{ x }}{% if not loop.last %}, {% endif %}{% endfor %}", "{% for x in empty %}{{ x }}{% else %}none{% endfor %}", "{% for x in missing %}{{ x }}{% else %}none{% endfor %}", "{% for x in nothing %}{% endfor %}",
    "{% for x in list if x > 1 %}{{ loop.index }}:{{ x }} {% else %}-{% endfor %}", "{% for x in list if x > 5 %}{{ x }}{% else %}-{% endfor %}", "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for k in d %}{{ k }}{% endfor %}",
    "{% for k, v in d | items %}{{ k }}{% endfor %}", "{% for a, b in [(1, 2), (3, 4)] %}{{ a + b }} {% endfor %}", "{% for a, b in [(1, 2, 3)] %}{% endfor %}", "{% for (a, b), c in [((1, 2), 3)] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for x in words %}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.previtem }}{{ loop.nextitem }};{% endfor %}", "{% for c in 'aé漢' %}{{ c }}.{% endfor %}",
    "{% for x in list %}{% for y in words %}{{ loop.index }}{% endfor %}{{ loop.index }} {% endfor %}", "{% for x in list %}{{ loop.cycle('a', 'b') }}{% endfor %}", "{% for x in range(10) %}{% if x == 2 %}{% continue %}{% endif %}{% if x > 4 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in list %}{% set n = x %}{{ n }}{% endfor %}{{ n }}", "{% set ns = namespace(n=0) %}{% for x in list %}{% set ns.n = ns.n + x %}{% endfor %}{{ ns.n }}", "{% set q.n = 1 %}", "{% set d.n = 1 %}", "{% for x in list %}{{ x }}{{ y }}{% set y = x %}{% endfor %}",
    "{% if n > 3 %}{% set z = 1 %}{% endif %}{{ z }}", "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set a = 1, 2 %}{{ a }}", "{% set b %}x{{ n }}\n y{% endset %}[{{ b }}]{{ b is string }}", "{% set b | upper | trim %} x {% endset %}[{{ b }}]", "{% set b %}{% set c = 1 %}{% endset %}{{ c is defined }}",
    "{% if t %}1{% elif n %}2{% else %}3{% endif %}{% if missing %}1{% elif n %}2{% else %}3{% endif %}{% if missing %}1{% elif nothing %}2{% else %}3{% endif %}", "{% with a = 1, b = n %}{{ a + b }}{% endwith %}{{ a is defined }}", "{% with %}{% set w = 1 %}{% endwith %}{{ w is defined }}",
    "{% filter upper %}a{{ s }}{% endfilter %}", "{% filter replace('a', 'b') | upper %}a{% endfilter %}", "{% print n, s %}", "{% block x %}{{ n }}{% set q = 1 %}{% endblock %}{{ q is defined }}", "{% autoescape false %}{{ '<' }}{% endautoescape %}", "{% include 'x' %}", "{% extends 'x' %}", "{% import 'x' as y %}",
    "{% macro m(a, b=2) %}{{ a }}-{{ b }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(b=4, a=5) }} {{ m() }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(c=2) }}", "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}",
    "{% macro m(x) %}{{ caller(x) }}!{% endmacro %}{% call(y) m(5) %}<{{ y }}>{% endcall %}", "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}", "{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}{{ n }}{% set n = 1 %}{% endcall %}{{ n }}", "{% macro m() %}{{ n }}{{ zz }}{% endmacro %}{% set zz = 3 %}{{ m() }}",
    "{% macro f(k) %}{% if k > 0 %}{{ k }}{{ f(k - 1) }}{% endif %}{% endmacro %}{{ f(4) }}", "{% macro m() %}  x\n{% endmacro %}[{{ m() }}]{{ m() is string }}", "{% macro m(a, a2=a) %}{{ a2 }}{% endmacro %}{{ m(3) }}", "{% macro m() %}{% set n = 1 %}{{ n }}{% endmacro %}{{ m() }}{{ n }}", "{{ m() }}{% macro m() %}{% endmacro %}",
    "{% for x in list %}{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% endfor %}{{ m is defined }}", "{% macro m(d) %}{% for k, v in d | dictsort %}{{ k }}:{{ m(v) if v is mapping else v }},{% endfor %}{% endmacro %}{{ m({'b': {'c': 1}, 'a': 2}) }}", "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}{{ a.name }}",
    "{% macro m(a, *b) %}{% endmacro %}", "{% macro m(a=1, b) %}{% endmacro %}", "{{ dict(**{'a': 1}) }}{{ range(*[1, 4]) | list }}", "{% set x = [1, 2] %}{% set x = x + [3] %}{{ x }}", "{% set it = words | map('upper') %}{{ it | list }}{{ it | list }}", "{% set it = words | map('upper') %}{{ it is iterable }}{{ it is sequence }}{% if it %}y{% endif %}{{ it | first }}{{ it | join }}",
    "{% generation %}a{% set g = 1 %}{% endgeneration %}{{ g is defined }}", "{%- generation -%} a {%- endgeneration -%} b", "{% generation %}", "{% if 'a' in s: %}x{% endif %}", "{% set x = namespace() %}{% set x.a = 1 %}{{ x.a }}{{ x['a'] }}{{ x.b is defined }}",
    "{% for m in rows %}{% if loop.previtem is defined and loop.previtem.name == m.name %}same{% endif %}{% if loop.nextitem is defined %}{{ loop.nextitem.k }}{% endif %}{% endfor %}", "{{ x is defined if true else 1 }}", "{{ [1, 2, 3] | select('in', [1, 3]) | list }}", "{{ not missing is defined }}", "{{ s | length > 3 }}", "{{ n | string + 'a' }}",
    "{{ 1 if true else 2 if false else 3 }}", "{{ 'x' if n is defined and n is not none else 'y' }}", "{% set x = 'a' if missing else 'b' %}{{ x }}", "{{ (n, x) }}", "{{ n, x }}", "{% set loop = 5 %}{% for x in list %}{{ loop.index }}{% endfor %}{{ loop }}", "{{ loop is defined }}", "{{ true and 'b' or 'c' }}", "{{ list|length-1 }}", "{{ -1|abs }}",
]

GENERATION = """{%- for m in messages %}
{%- if m.role == 'assistant' %}
{{- '<|im_start|>assistant\n' }}{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}{{ '\n' }}
{%- else %}
{{- '<|im_start|>' ~ m.role ~ '\n' ~ m.content ~ '<|im_end|>\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"""
STRICT = """{{ bos_token }}{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}
{% if m['role'] == 'user' %}{{ '[INST] ' + m['content'].strip() + ' [/INST]' }}{% else %}{{ ' ' + m['content'] + eos_token }}{% endif %}{% endfor %}"""
PARTS = """{% macro part(p) %}{% if p is string %}{{ p }}{% elif p.type == 'text' %}{{ p.text | trim }}{% elif p.type in ['image', 'image_url'] %}<image>{% else %}{{ raise_exception('no part ' ~ p.type) }}{% endif %}{% endmacro %}
{% for m in messages %}
<{{ m.role }}>{% if m.content is string %}{{ part(m.content) }}{% else %}{% for p in m.content %}{{ part(p) }}{% endfor %}{% endif %}</{{ m.role }}>
{% endfor %}"""
TOOLS = """{%- set ns = namespace(last=messages|length - 1) %}
{%- if tools %}
    {{- "# Tools\n\n<tools>" }}
    {%- for tool in tools %}
        {{- "\n" }}
        {{- tool | tojson }}
    {%- endfor %}
    {{- "\n</tools>\n" }}
    {%- for tool in tools %}{% for k, v in tool.function.parameters.properties | dictsort %}{{ k }}: {{ v.type | upper }}{{ ' = ' ~ v.default if v.default is defined }}
    {% endfor %}{% endfor %}
{%- endif %}
{%- for m in messages %}
    {%- if m.tool_calls %}
        {%- for c in m.tool_calls %}
            {%- set c = c.function if c.function is defined else c %}
            {{- '<call>{"name": "' ~ c.name ~ '", "arguments": ' }}
            {{- c.arguments if c.arguments is string else c.arguments | tojson }}{{ '}</call>\n' }}
        {%- endfor %}
    {%- elif m.role == 'tool' %}
        {%- if loop.first or loop.previtem.role != 'tool' %}{{ '<results>\n' }}{% endif %}
        {{- '  ' ~ m.content | indent(2) ~ '\n' }}
        {%- if loop.last or loop.nextitem.role != 'tool' %}{{ '</results>\n' }}{% endif %}
    {%- else %}
        {%- if '</think>' in m.content and loop.index0 < ns.last %}
            {%- set content = m.content.split('</think>')[-1].lstrip('\n') %}
        {%- else %}{% set content = m.content %}{% endif %}
        {{- '<' ~ m.role ~ '>' ~ content ~ (('|' ~ m.reasoning_content) if m.reasoning_content is defined) ~ '\n' }}
    {%- endif %}
{%- endfor %}
{%- for doc in documents or [] %}{{ loop.index }}. {{ doc.title }}: {{ doc['text'] }}
{% endfor %}
{%- if add_generation_prompt %}{{ '<assistant>' }}{% if enable_thinking is defined and enable_thinking is false %}{{ '<think>\n\n</think>' }}{% endif %}{% endif %}"""


def message(role, content, **more):
    return {"role": role, "content": content, **more}


TOOL = {"type": "function", "function": {"name": "weather", "description": "At a place: \"now\" & later, é", "parameters": {
    "type": "object", "properties": {"place": {"type": "string"}, "days": {"type": "integer", "default": 3}}, "required": ["place"]}}}
TALK = [message("user", " Hi \n"), message("assistant", "Hello"), message("user", "How are you?")]
CALLS = [message("user", "Weather?"),
         message("assistant", None, tool_calls=[{"type": "function", "function": {"name": "weather", "arguments": {"place": "Köln", "days": 2, "x": None, "y": 1.5}}}]),
         message("tool", "20\n21"), message("tool", "22"), message("assistant", "<think>\nhm\n</think>\n\nWarm", reasoning="so"), message("user", "Thanks")]
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}
CHATS = [
    (GENERATION, {"messages": TALK, "add_generation_prompt": True}),
    (GENERATION, {"messages": TALK + [message("assistant", "Fine, é")], "add_generation_prompt": False}),
    (STRICT, {"messages": TALK, "add_generation_prompt": True}),
    (STRICT, {"messages": [message("system", "x")] + TALK, "add_generation_prompt": True}),
    (PARTS, {"messages": TALK, "add_generation_prompt": True}),
    (PARTS, {"messages": [message("user", [{"type": "text", "text": " a "}, {"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": "b"}])], "add_generation_prompt": True}),
    (PARTS, {"messages": [message("user", [{"type": "video"}])], "add_generation_prompt": True}),
    (TOOLS, {"messages": TALK, "add_generation_prompt": True}),
    (TOOLS, {"messages": CALLS, "tools": [TOOL], "add_generation_prompt": True}),
    (TOOLS, {"messages": CALLS[:4], "tools": [TOOL, TOOL], "add_generation_prompt": True, "enable_thinking": False}),
    (TOOLS, {"messages": TALK, "documents": [{"title": "T", "text": "x\ny"}], "add_generation_prompt": False}),
]


def render(template, variables):
    """(text, ranges), or None where it is refused."""
    variables = dict(variables)
    messages = variables.pop("messages", [message("user", "x")])
    try:
        texts, ranges = chat.render_jinja_template(
            [chat._normalize_chat_messages(messages)], chat_template=template,
            return_assistant_tokens_mask="generation" in template, **variables)
    except Exception:
        return None
    return texts[0], [list(r) for r in ranges[0]] if ranges else []


def main():
    os.makedirs(OUT, exist_ok=True)
    constructs = []
    for template in [f"{{{{ {e} }}}}" for line in EXPRESSIONS.split("\n") for e in line.split("  ;  ")] + TEMPLATES:
        made = render(template, VARIABLES)
        one = {"template": template}
        one.update({"text": made[0]} if made else {"refused": True})
        constructs.append(one)
    chats = []
    for template, variables in CHATS:
        given = {**SPECIAL, "tools": None, "documents": None, **variables}
        made = render(template, given)
        chats.append({"template": template, "variables": given,
                      **({"text": made[0], "generated": made[1]} if made else {"refused": True})})
    for name, value in [("constructs", {"variables": VARIABLES, "cases": constructs}), ("chats", chats)]:
        with open(f"{OUT}/{name}.json", "w", encoding="utf-8") as f:
            json.dump(value, f, ensure_ascii=False, indent=0)
            f.write("\n")
    print(len(constructs), "constructs,", sum("refused" in c for c in constructs), "refused;", len(chats), "chats")


if __name__ == "__main__":
    main()
