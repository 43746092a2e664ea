// OpenAI's embeddings: https://platform.openai.com/docs/api-reference/embeddings
#include <cmath>

#include "base/unicode/base64.h"
#include "operate/serve/openai/model_asked.h"
#include "operate/serve/protocol/json_body.h"

namespace hone {
namespace {

struct EmbeddingAsked {
  bool base64 = false;
  int64_t dimensions = 0;  // 0: all
};

Result<EmbeddingAsked> read_embedding_form(const Json& body, const ServedModel& model) {
  EmbeddingAsked form;
  const std::string encoding = HONE_TRY(text_member(body, "encoding_format"));
  if (!encoding.empty() && encoding != "float" && encoding != "base64")
    return bad_key("encoding_format", fmt::format("'{}' is not float or base64", encoding));
  form.base64 = encoding == "base64";
  const Json& dimensions = value_at(body, "dimensions");
  if (dimensions.is_null()) return form;
  if (!dimensions.is_number_integer() || dimensions.get<int64_t>() < 1 ||
      dimensions.get<int64_t>() > model.embedding_width())
    return bad_key("dimensions", fmt::format("the model's embeddings have 1 to {} dimensions",
                                             model.embedding_width()));
  form.dimensions = dimensions.get<int64_t>();
  return form;
}

// The first numbers of an embedding, with length 1, as OpenAI and vLLM cut them.
std::vector<float> cut_embedding(const std::vector<float>& all, int64_t dimensions) {
  if (dimensions == 0 || dimensions == std::ssize(all)) return all;
  std::vector<float> part(all.begin(), all.begin() + dimensions);
  double squares = 0;
  for (const float x : part) squares += static_cast<double>(x) * static_cast<double>(x);
  const auto length = static_cast<float>(std::sqrt(squares));
  if (length > 0)
    for (float& x : part) x /= length;
  return part;
}

OrderedJson embedding_json(const std::vector<float>& values, bool base64) {
  if (!base64) return values;
  return encode_base64({reinterpret_cast<const char*>(values.data()),
                        values.size() * sizeof(float)});  // little-endian
}

Status embed(RouteCall& call) {
  const Json body = HONE_TRY(json_object(call.request.body));
  HONE_TRY(check_keys(body, {"model", "input", "encoding_format", "dimensions", "user"}));
  const ModelSet::Model model = HONE_TRY(named_model(call.server, body));
  if (model->task() != ServedTask::embedding)
    return bad_key("model",
                   fmt::format("'{}' is for {}", text_at(body, "model"), name_of(model->task())))
        .todo("name a model with the task feature-extraction");
  const EmbeddingAsked form = HONE_TRY(read_embedding_form(body, *model));
  std::vector<TextQuery> queries = HONE_TRY(prompts_asked(body, "input"));
  for (TextQuery& q : queries) q.deadline = call.server.deadline();
  ask_all(
      *call.reply, model, std::move(queries),
      [reply = call.reply, model, form,
       name = text_at(body, "model")](Result<std::vector<TextAnswer>> all) {
        if (!all.ok()) return reply->send(openai_error(all.error()));
        OrderedJson data = OrderedJson::array();
        int64_t tokens = 0;
        for (const TextAnswer& a : *all) {
          tokens += a.prompt_tokens;
          data.push_back({{"object", "embedding"},
                          {"index", data.size()},
                          {"embedding", embedding_json(cut_embedding(a.embedding, form.dimensions),
                                                       form.base64)}});
        }
        const OrderedJson answer{{"object", "list"},
                                 {"data", data},
                                 {"model", name},
                                 {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}};
        reply->send({200, dump_json(answer) + "\n"});
      });
  return Ok{};
}

void answer_embeddings(RouteCall& call) {
  if (const Status s = embed(call); !s.ok()) call.reply->send(openai_error(s.error()));
}

std::vector<Route> embeddings_routes(const ServeContext&) {
  return {{"POST", "v1/embeddings", answer_embeddings}};
}

}  // namespace

Api serve_api_embeddings() { return {"embeddings", embeddings_routes}; }

}  // namespace hone
