#include "operate/serve/openai/model_asked.h"

#include <algorithm>
#include <atomic>

#include "operate/serve/error_shape.h"
#include "operate/serve/protocol/chat_request.h"
#include "operate/serve/protocol/json_body.h"

namespace hone {
namespace {

bool are_ids(const Json& list) {
  return list.is_array() && !list.empty() &&
         std::all_of(list.begin(), list.end(), [](const Json& v) {
           return v.is_number_integer() && v.get<int64_t>() >= 0 && v.get<int64_t>() <= INT32_MAX;
         });
}

}  // namespace

Result<ModelSet::Model> named_model(ServeContext& server, const Json& body) {
  std::string name = text_at(body, "model"), version;
  if (const size_t at = name.find('@'); at != std::string::npos) {
    version = name.substr(at + 1);
    name.resize(at);
  }
  if (name.empty()) return bad_key("model", "the body names no model");
  return server.models.find(name, version);
}

Result<ModelSet::Model> model_asked(ServeContext& server, const Json& body) {
  ModelSet::Model model = HONE_TRY(named_model(server, body));
  if (!writes_text(model->task()))
    return bad_key("model",
                   fmt::format("'{}' is for {}", text_at(body, "model"), name_of(model->task())))
        .todo("send it to :predict");
  return model;
}

Result<std::vector<TextQuery>> prompts_asked(const Json& body, const char* key) {
  const auto prompt = body.find(key);
  if (prompt == body.end()) return bad_key(key, fmt::format("the body has no {}", key));
  std::vector<TextQuery> queries;
  const auto add = [&](const Json& one) -> Status {
    TextQuery q;
    if (one.is_string())
      q.text = one.get<std::string>();
    else if (are_ids(one))
      q.tokens = one.get<std::vector<int32_t>>();
    else
      return bad_key(key,
                     fmt::format("a part of {} is neither a text nor a list of token ids", key));
    queries.push_back(std::move(q));
    return Ok{};
  };
  if (!prompt->is_array() || are_ids(*prompt)) {
    HONE_TRY(add(*prompt));
    return queries;
  }
  HONE_TRY(check_text_count(prompt->size()));
  for (const Json& one : *prompt) HONE_TRY(add(one));
  return queries;
}

Result<TextQuery> chat_asked(const OrderedJson& ordered, const ServedModel& model) {
  const OrderedJson& tools = value_at(ordered, "tools");
  const ChatTemplate* chat = HONE_TRY(model.chat_template(tools.is_array() && !tools.empty()));
  TextQuery q;
  q.text = HONE_TRY(chat_text(ordered, *chat, model.tokenizer().parts()));
  q.special_tokens = false;  // the template writes them
  return q;
}

std::string new_openai_id(const std::string& prefix, double wall_seconds) {
  static std::atomic<uint64_t> count{0};
  return fmt::format("{}{:x}{:08x}", prefix, static_cast<uint64_t>(wall_seconds * 1e6), ++count);
}

WebAnswer openai_error(const Error& e) { return shaped_error(ErrorShape::openai, e); }

Error named_as_in(const Json& body, const Error& e) {
  return with_names_of(e, body, openai_names());
}

}  // namespace hone
