#include "learn/chat/chat_template.h"

#include "learn/chat/errors.h"
#include "learn/chat/renderer.h"

namespace hone {
namespace {

using chat::Body;
using chat::Expression;
using chat::Statement;

// Calls look(statement) for each statement of the tree, and each in it.
template <class F>
void each_statement(const Body& body, F look) {
  for (const auto& s : body) {
    look(*s);
    for (const auto& branch : s->branches) each_statement(branch.body, look);
    each_statement(s->body, look);
    each_statement(s->otherwise, look);
  }
}

// Whether the expression is a variable `content`, or x.content, x['content'], perhaps with filters.
bool is_content(const chat::Tree& tree, const Expression& e) {
  switch (e.kind) {
    case Expression::variable:
    case Expression::attribute:
      return tree.names[e.name] == "content";
    case Expression::item:
      return e.kids[1]->kind == Expression::constant && chat::equal(e.kids[1]->value, "content");
    case Expression::filter:
    case Expression::slice:
      return is_content(tree, *e.kids[0]);
    default:
      return false;
  }
}

}  // namespace

Result<ChatTemplate> ChatTemplate::parse(std::string_view source) {
  auto tree = std::make_shared<chat::Tree>(HONE_TRY(chat::parse_template(source)));
  ChatTemplate made;
  made.source_ = source;
  each_statement(tree->body, [&](const Statement& s) {
    made.marks_answers_ = made.marks_answers_ || s.kind == Statement::generation;
    made.reads_parts_ =
        made.reads_parts_ || (s.kind == Statement::loop && is_content(*tree, *s.expression));
  });
  made.tree_ = std::move(tree);
  return made;
}

Result<ChatText> ChatTemplate::render(const OrderedJson& variables, const ChatLimits& limits,
                                      const Clock& clock) const {
  Result<ChatText> text = chat::Renderer(*tree_, limits, clock).run(variables);
  if (!text.ok() && text.error().remedy().empty())
    text.error().todo("send the messages in the form that the chat template of the model takes");
  return text;
}

OrderedJson chat_messages(const OrderedJson& messages) {
  OrderedJson out = OrderedJson::array();
  for (const OrderedJson& m : messages) {
    if (!m.is_object()) {
      out.push_back(m);
      continue;
    }
    OrderedJson reasoning, kept = OrderedJson::object();
    for (const char* key : {"reasoning_content", "thinking", "reasoning"})
      if (reasoning.is_null() && m.contains(key)) reasoning = m[key];
    if (!reasoning.is_null()) kept["thinking"] = reasoning;
    for (const auto& [key, value] : m.items())
      if (!value.is_null()) kept[key] = value;
    if (!reasoning.is_null()) kept["reasoning_content"] = reasoning;
    out.push_back(std::move(kept));
  }
  return out;
}

}  // namespace hone
