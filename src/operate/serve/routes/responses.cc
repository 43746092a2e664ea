// OpenAI's responses, for texts: an input and instructions give one message, whole or as a stream of
// events. Nothing is stored.
//   https://platform.openai.com/docs/api-reference/responses
#include "operate/serve/openai/response_answer.h"
#include "operate/serve/protocol/json_body.h"

namespace hone {
namespace {

Status respond(RouteCall& call) {
  const Json body = HONE_TRY(json_object(call.request.body));
  const ModelSet::Model model = HONE_TRY(model_asked(call.server, body));
  const OrderedJson ordered = HONE_TRY(parse_ordered_json(call.request.body, "the body"));
  const auto a = std::make_shared<ResponseAsked>();
  a->settings = HONE_TRY(read_response_settings(body, ordered, model->longest()));
  OrderedJson chat = OrderedJson::object();
  chat["messages"] = HONE_TRY(response_messages(ordered));
  TextQuery q = HONE_TRY(chat_asked(chat, *model));
  a->model = model;
  a->body = ordered;
  const double now = call.server.clock->wall_seconds();
  a->created = static_cast<int64_t>(now);
  a->id = new_openai_id("resp_", now);
  a->message_id = new_openai_id("msg_", now);
  q.settings = a->settings.settings;
  q.form = a->settings.form;
  q.deadline = call.server.deadline();
  if (a->settings.stream) {
    stream_response(call.reply, a, std::move(q));
    return Ok{};
  }
  std::vector<TextQuery> queries;
  queries.push_back(std::move(q));
  ask_all(*call.reply, model, std::move(queries),
          [reply = call.reply, a](Result<std::vector<TextAnswer>> all) {
            if (!all.ok()) return reply->send(a->failed(all.error()));
            reply->send({200, whole_response(*a, all->front())});
          });
  return Ok{};
}

void answer_response(RouteCall& call) {
  if (const Status s = respond(call); !s.ok()) call.reply->send(openai_error(s.error()));
}

std::vector<Route> response_routes(const ServeContext&) {
  return {{"POST", "v1/responses", answer_response}};
}

}  // namespace

Api serve_api_responses() { return {"responses", response_routes}; }

}  // namespace hone
