#include "operate/serve/token_answers.h"

#include "operate/serve/protocol/errors.h"

namespace hone {

Result<TextQuery> question_of(const Json& instance) {
  TextQuery q;
  const Json &question = value_at(instance, "question"), &context = value_at(instance, "context");
  for (const auto& [name, value] : {std::pair("question", &question), {"context", &context}})
    if (!value->is_string() ||
        value->get<std::string>().find_first_not_of(" \t\r\n") == std::string::npos)
      return Error(err::kServeRequest, fmt::format("the instance has no text \"{}\"", name))
          .todo(R"(give {"question": "...", "context": "..."})");
  q.text = question.get<std::string>();
  q.pair = context.get<std::string>();
  return q;
}

OrderedJson entities_json(const TextAnswer& answer) {
  OrderedJson all = OrderedJson::array();
  for (const Entity& e : answer.entities) {
    OrderedJson one{{e.index < 0 ? "entity_group" : "entity", e.label}, {"score", e.score}};
    if (e.index >= 0) one["index"] = e.index;
    one["word"] = e.word;
    one["start"] = e.begin;
    one["end"] = e.end;
    all.push_back(std::move(one));
  }
  return all;
}

OrderedJson answers_json(const TextAnswer& answer) {
  OrderedJson all = OrderedJson::array();
  for (const Extracted& e : answer.answers)
    all.push_back({{"score", e.score}, {"start", e.begin}, {"end", e.end}, {"answer", e.text}});
  return all.size() == 1 ? all[0] : all;
}

}  // namespace hone
