#include "operate/serve/text_instance.h"

#include "operate/serve/protocol/errors.h"
#include "operate/serve/token_answers.h"

namespace hone {
namespace {

// Keys of an instance that hold its text, in Vertex's and Hugging Face's names.
constexpr const char* kTextKeys[] = {"text",   "prompt",     "content",
                                     "inputs", "text_input", "instance"};
constexpr const char* kPairKey = "text_pair";

Error no_instance(const ServedModel& model, const std::string& what) {
  const std::string form = model.reads_pairs() ? pair_form(model) : "{\"text\": \"...\"}";
  return Error(err::kServeRequest, what)
      .todo(
          (model.reads_pairs() ? "give an object such as " : "give a text, or an object such as ") +
          form);
}

std::optional<std::string> string_member(const Json& instance, const std::string& key) {
  const Json& value = value_at(instance, key.c_str());
  if (!value.is_string()) return {};
  return value.get<std::string>();
}

// By the columns of the training: both of a pair, all that it joined, else the first one, which the model reads.
std::optional<TextQuery> query_of_columns(const ServedModel& model, const Json& instance) {
  const std::vector<std::string>& columns = model.trained_columns();
  if (columns.empty() || instance.contains(kPairKey)) return {};
  TextQuery q;
  const auto text = string_member(instance, columns[0]);
  if (!text) return {};
  q.text = *text;
  if (model.reads_pairs() && !(q.pair = string_member(instance, columns[1]))) return {};
  const std::optional<std::string> delimiter = model.trained_delimiter();
  for (size_t i = 1; delimiter && i < columns.size(); ++i) {
    const auto more = string_member(instance, columns[i]);
    if (!more) return {};
    q.text += *delimiter + *more;
  }
  return q;
}

}  // namespace

std::string pair_form(const ServedModel& model) {
  const std::vector<std::string>& columns = model.trained_columns();
  return dump_json(OrderedJson{{columns[0], "..."}, {columns[1], "..."}});
}

SecondText second_text(const ServedModel& model) {
  if (model.reads_pairs()) return SecondText::kRequired;
  const bool may_read =
      model.task() == ServedTask::fill_mask ||
      (model.task() == ServedTask::classification && model.trained_columns().empty());
  return may_read ? SecondText::kOptional : SecondText::kNone;
}

Result<TextQuery> query_of_instance(const ServedModel& model, const Json& instance) {
  TextQuery q;
  if (instance.is_string()) {
    q.text = instance.get<std::string>();
    return q;
  }
  if (!instance.is_object())
    return no_instance(model, "an instance is neither a text nor an object");
  if (const auto found = query_of_columns(model, instance)) return *found;
  if (instance.contains("question")) return question_of(instance);
  for (const char* key : kTextKeys) {
    const auto text = string_member(instance, key);
    if (!text) continue;
    q.text = *text;
    if (!instance.contains(kPairKey)) return q;
    if (second_text(model) == SecondText::kNone)
      return Error(err::kServeRequest, fmt::format("'{}' reads one text, and {} is a second one",
                                                   model.name(), kPairKey))
          .todo(fmt::format("leave {} out", kPairKey));
    if (!(q.pair = string_member(instance, kPairKey)))
      return no_instance(model, fmt::format("{} is not a text", kPairKey));
    return q;
  }
  return no_instance(model, "the instance has no text");
}

Result<TextQuery> query_of_tensor(const ServedModel& model, const std::string& text) {
  TextQuery q;
  q.text = text;
  const bool is_known = !model.trained_columns().empty();
  if (model.task() != ServedTask::classification || (is_known && !model.reads_pairs())) return q;
  Json instance;
  const bool has_form = !parse_json(text, {}, instance) && instance.is_object();
  if (model.reads_pairs() && !has_form)
    return Error(err::kServeRequest, "a text of text_input is not a JSON object")
        .todo("give a text such as " + dump_json(Json(pair_form(model))));
  const bool is_pair = has_form && instance.size() == 2 && string_member(instance, "text") &&
                       string_member(instance, kPairKey);
  return model.reads_pairs() || is_pair ? query_of_instance(model, instance) : Result<TextQuery>(q);
}

}  // namespace hone
