#include <gtest/gtest.h>

#include "learn/chat/chat_template.h"
#include "learn/chat/errors.h"
#include "learn/chat/python_text.h"

namespace hone {
namespace {

OrderedJson golden(const std::string& name) {
  const std::string path = std::string(HONE_SOURCE_DIR) + "/tests/goldens/chat/" + name;
  return parse_ordered_json(read_file(path).value(), name).value();
}

Result<ChatText> rendered(const std::string& source,
                          const OrderedJson& variables = OrderedJson::object(),
                          const ChatLimits& limits = {}, const Clock& clock = system_clock()) {
  const ChatTemplate chat = HONE_TRY(ChatTemplate::parse(source));
  return chat.render(variables, limits, clock);
}
std::string text_of(const std::string& source,
                    const OrderedJson& variables = OrderedJson::object()) {
  Result<ChatText> r = rendered(source, variables);
  return r.ok() ? r->text : r.error().text();
}
Error error_of(const std::string& source, const OrderedJson& variables = OrderedJson::object(),
               const ChatLimits& limits = {}) {
  Result<ChatText> r = rendered(source, variables, limits);
  EXPECT_FALSE(r.ok()) << source << " gives " << (r.ok() ? r->text : "");
  return r.ok() ? Error(err::kChatRender, "none") : r.error();
}

// Every construct by itself, as Jinja with the settings of Transformers renders or refuses it.
TEST(Chat, RendersEachConstructAsTransformers) {
  const OrderedJson all = golden("constructs.json");
  ASSERT_GT(all["cases"].size(), 500u);
  for (const OrderedJson& one : all["cases"]) {
    const std::string source = one["template"];
    const Result<ChatText> r = rendered(source, all["variables"]);
    EXPECT_EQ(r.ok(), !one.contains("refused")) << source << "\n"
                                                << (r.ok() ? r->text : r.error().text());
    if (!r.ok() || !one.contains("text")) continue;
    EXPECT_EQ(r->text, one["text"].get<std::string>()) << source;
  }
}

TEST(Chat, RendersTemplatesOfFamiliesAsTransformers) {
  for (const OrderedJson& one : golden("chats.json")) {
    OrderedJson variables = one["variables"];
    variables["messages"] = chat_messages(variables["messages"]);
    const Result<ChatText> r = rendered(one["template"], variables);
    ASSERT_EQ(r.ok(), !one.contains("refused")) << one["template"];
    if (!r.ok()) continue;
    EXPECT_EQ(r->text, one["text"].get<std::string>());
    ASSERT_EQ(r->generated.size(), one["generated"].size());
    for (size_t i = 0; i < r->generated.size(); ++i) {
      const std::string_view text = r->text;
      EXPECT_EQ(chat::length_of(text.substr(0, r->generated[i].from)), one["generated"][i][0]);
      EXPECT_EQ(chat::length_of(text.substr(0, r->generated[i].to)), one["generated"][i][1]);
    }
  }
}

TEST(Chat, NamesTheLineOfWhatItCannotRead) {
  const Error e = error_of("a\nb {{ x\n  !y }}");
  EXPECT_EQ(std::string(e.code()), err::kChatTemplate.id);
  EXPECT_EQ(e.text(), "H2911  '!' has no meaning in a tag\n  at   chat template, line 3");
  EXPECT_EQ(error_of("\n{% foor x in y %}").text(),
            "H2911  there is no tag 'foor' here\n  at   chat template, line 2\n  do   did you mean "
            "'for'?");
  EXPECT_EQ(error_of("{% include 'x' %}").remedy(), "write the template as one file");
  EXPECT_EQ(error_of("{% if x %}\n").what(),
            "the template ends before 'elif' or 'else' or 'endif'");
  EXPECT_EQ(error_of("{% for x in y recursive %}{% endfor %}").remedy(), "write a macro");
}

TEST(Chat, SaysWhyItRefusesMessages) {
  const Error e = error_of("{% if true %}\n{{ raise_exception('Only user') }}{% endif %}");
  EXPECT_EQ(std::string(e.code()), err::kChatRender.id);
  EXPECT_EQ(
      e.text(),
      "H2912  the chat template refuses the messages: Only user\n  at   chat template, line 2\n"
      "  do   send the messages in the form that the chat template of the model takes");
  EXPECT_EQ(error_of("{{ tools[0].name }}").what(), "'tools' is undefined");
  EXPECT_EQ(error_of("{{ m.x.y }}", {{"m", {{"a", 1}}}}).what(), "a dict has no 'x'");
  EXPECT_EQ(error_of("{{ 1 | uper }}").remedy(), "did you mean 'upper'?");
  EXPECT_EQ(error_of("{{ 1 is definde }}").remedy(), "did you mean 'defined'?");
  EXPECT_EQ(error_of("{{ l.append(1) }}", {{"l", OrderedJson::array()}}).what(),
            "a template may not change a list: 'append'");
  EXPECT_EQ(error_of("{{ 9223372036854775807 + 1 }}").what(), "a number is beyond 64 bits");
}

// Templates come with models: none may run, grow or recurse without end.
TEST(Chat, EndsTemplatesThatAskForTooMuch) {
  const ChatLimits limits{.steps = 200'000, .bytes = 1 << 22, .text = 1 << 20};
  const std::string many = "{% for a in range(100000) %}{% for b in range(100000) %}";
  for (const std::string& source :
       {many + "{% endfor %}{% endfor %}",
        many + "x{% endfor %}{% endfor %}",
        std::string("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
        std::string("{{ 'x' * 1000000000000 }}"),
        std::string("{{ [1] * 1000000000000 }}"),
        std::string("{% set n = namespace(s='xxxxxxxxxx') %}{% for i in range(60) %}{% set n.s = "
                    "n.s + n.s %}{% endfor %}"),
        std::string("{% set n = namespace(s=[1]) %}{% for i in range(60) %}{% set n.s = [n.s, n.s] "
                    "%}{% endfor %}{{ n.s }}"),
        std::string("{% set n = namespace(s=[]) %}{% for i in range(90000) %}{% set n.s = [n.s] "
                    "%}{% endfor %}"),
        std::string("{% set a = 'a' * 2000 %}{{ a | replace('', a) }}"),
        std::string("{% set a = 'a,' * 2000 %}{{ a.split(',') | join(a) }}"),
        std::string("{{ ('x\n' * 10000) | indent(10000) }}"),
        std::string("{{ 'a'.center(999999999999) }}"),
        std::string("{{ ('{0}' * 10000).format('a' * 1000) }}"),
        std::string("{{ ('%(a)s' * 10000) % {'a': 'a' * 1000} }}"),
        std::string("{{ range(100000) | map('string') | unique | list | length }}"),
        "{{ " + std::string(300, '(') + "1" + std::string(300, ')') + " }}",
        "{{ 1" + std::string(2000, '+') + "1 }}",
        "{{ " + std::string(300, '[') + std::string(300, ']') + " }}",
        "{{ x" +
            [] {
              std::string s;
              for (int i = 0; i < 500; ++i) s += ".x";
              return s;
            }() +
            " }}",
        [] {
          std::string s;
          for (int i = 0; i < 500; ++i) s += "{% if x %}";
          return s;
        }(),
        std::string(2'000'000, ' ')}) {
    EXPECT_EQ(std::string(error_of(source, {}, limits).code()), err::kChatLimit.id)
        << source.substr(0, 100);
  }
  EXPECT_EQ(std::string(error_of("{{ 'ab' * 3 }}", {}, {.text = 5}).code()), err::kChatLimit.id);
  EXPECT_EQ(error_of("{{ range(100001) }}").what(), "range has more than 100000 numbers");
}

TEST(Chat, KeepsWhatMacrosLookInto) {
  // A macro and a loop that outlive where they were made.
  EXPECT_EQ(
      text_of("{% set n = namespace() %}{% for x in [1, 2] %}{% set y = x * 10 %}{% macro m() %}{{ "
              "y }}{% endmacro %}"
              "{% set n.m = m %}{% set n.l = loop %}{% endfor %}{{ n.m() }} {{ n.l.length }}"),
      "20 2");
  EXPECT_EQ(text_of("{% set n = namespace() %}{% set n.n = n %}{{ n.n.n is defined }}"), "True");
}

TEST(Chat, WritesTheTimeOfItsClock) {
  FakeClock clock;
  clock.advance(86400 * 100);
  const Result<ChatText> r = rendered("{{ strftime_now('%Y %B') }}", {}, {}, clock);
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(r->text, "2024 February");
}

TEST(Chat, KnowsWhatATemplateReads) {
  EXPECT_TRUE(ChatTemplate::parse("{% generation %}x{% endgeneration %}")->marks_answers());
  EXPECT_FALSE(ChatTemplate::parse("{{ generation }}")->marks_answers());
  EXPECT_TRUE(ChatTemplate::parse(
                  "{% for m in messages %}{% for p in m['content'] %}{% endfor %}{% endfor %}")
                  ->reads_parts());
  EXPECT_FALSE(
      ChatTemplate::parse("{% for m in messages %}{{ m.content }}{% endfor %}")->reads_parts());
}

// As Transformers does before it renders.
TEST(Chat, LeavesOutNullsAndNamesReasoningTwice) {
  const OrderedJson m =
      parse_ordered_json(
          R"([{"role": "a", "content": null, "tool_calls": null}, {"role": "b", "reasoning": "r"}])",
          "m")
          .value();
  EXPECT_EQ(
      dump_json(chat_messages(m)),
      R"([{"role": "a"}, {"thinking": "r", "role": "b", "reasoning": "r", "reasoning_content": "r"}])");
}

}  // namespace
}  // namespace hone
