// OpenAI's completions, chat and models.
//   https://platform.openai.com/docs/api-reference
#include "operate/serve/example.h"
#include "operate/serve/openai/openai_answer.h"
#include "operate/serve/protocol/json_body.h"
#include "operate/serve/text_instance.h"

namespace hone {
namespace {

std::shared_ptr<OpenaiAsked> new_asked(const RouteCall& call, const Json& body,
                                       ModelSet::Model model, bool chat) {
  const auto a = std::make_shared<OpenaiAsked>();
  a->chat = chat;
  a->model = std::move(model);
  a->model_name = text_at(body, "model");
  const double now = call.server.clock->wall_seconds();
  a->created = static_cast<int64_t>(now);
  a->id = new_openai_id(chat ? "chatcmpl-" : "cmpl-", now);
  for (const KeyName& name : openai_names())
    if (const auto it = body.find(name.theirs); it != body.end()) a->given[name.theirs] = *it;
  return a;
}

Status answer_queries(const RouteCall& call, const std::shared_ptr<OpenaiAsked>& a,
                      std::vector<TextQuery> queries) {
  for (TextQuery& q : queries) {
    q.settings = a->settings.settings;
    q.form = a->settings.form;
    q.deadline = call.server.deadline();
  }
  if (a->settings.stream) {
    if (queries.size() != 1)
      return bad_key("stream", "several prompts are not streamed").todo("send them one by one");
    stream_answer(call.reply, a, std::move(queries[0]));
    return Ok{};
  }
  ask_all(*call.reply, a->model, std::move(queries),
          [reply = call.reply, a](Result<std::vector<TextAnswer>> all) {
            if (!all.ok()) return reply->send(a->failed(all.error()));
            reply->send({200, whole_answer(*a, *all)});
          });
  return Ok{};
}

Status complete(RouteCall& call) {
  const Json body = HONE_TRY(json_object(call.request.body));
  const ModelSet::Model model = HONE_TRY(model_asked(call.server, body));
  const auto a = new_asked(call, body, model, false);
  std::vector<TextQuery> queries = HONE_TRY(prompts_asked(body));
  a->settings = HONE_TRY(read_completion(body, call.request.body));
  if (a->settings.echo && model->task() != ServedTask::generation)
    return bad_key("echo", "an encoder-decoder does not continue its text").todo("leave it out");
  if (a->settings.echo)
    for (const TextQuery& q : queries)
      a->prompts.push_back(q.tokens.empty() ? q.text : model->tokenizer().decode(q.tokens));
  return answer_queries(call, a, std::move(queries));
}

Status complete_chat(RouteCall& call) {
  const Json body = HONE_TRY(json_object(call.request.body));
  const ModelSet::Model model = HONE_TRY(model_asked(call.server, body));
  const auto a = new_asked(call, body, model, true);
  const OrderedJson ordered = HONE_TRY(parse_ordered_json(call.request.body, "the body"));
  std::vector<TextQuery> queries;
  queries.push_back(HONE_TRY(chat_asked(ordered, *model)));
  a->settings = HONE_TRY(read_chat_settings(body, ordered, model->longest()));
  const Json& tools = value_at(body, "tools");
  if (tools.is_array() && !tools.empty() && text_at(body, "tool_choice") != "none")
    a->tools = tool_names(tools);
  return answer_queries(call, a, std::move(queries));
}

constexpr const char* kSecondTexts[] = {"none", "optional", "required"};

// Also KServe v1's: its clients read name and ready, models.
OrderedJson model_json(const ServedModel& m) {
  return {{"id", m.name()},
          {"object", "model"},
          {"created", static_cast<int64_t>(m.loaded_at())},
          {"owned_by", "hone"},
          {"name", m.name()},
          {"ready", true},
          {"task", name_of(m.task())},
          {"chat", m.chat_template(false).ok()},
          {"text_pair", kSecondTexts[static_cast<size_t>(second_text(m))]},
          {"example", example_instance(m)},
          {"route", example_route(m)}};
}

void list_models(RouteCall& call) {
  if (call.server.models.loading()) return call.reply->send(openai_error(still_loading()));
  OrderedJson data = OrderedJson::array();
  const std::vector<std::string> names = call.server.models.names();
  for (const std::string& name : names)
    if (const auto m = call.server.models.look_up(name); m.ok()) data.push_back(model_json(**m));
  call.reply->send(
      {200, dump_json(OrderedJson{{"object", "list"}, {"data", data}, {"models", names}}) + "\n"});
}

void describe_openai_model(RouteCall& call) {
  const auto m = call.server.models.look_up(call.part("model"));
  call.reply->send(m.ok() ? WebAnswer{200, dump_json(model_json(**m)) + "\n"}
                          : openai_error(m.error()));
}

template <Status (*answer)(RouteCall&)>
void answer_completion(RouteCall& call) {
  if (const Status s = answer(call); !s.ok()) call.reply->send(openai_error(s.error()));
}

std::vector<Route> openai_routes(const ServeContext&) {
  return {{"GET", "v1/models", list_models},
          {"GET", "v1/models/{model}", describe_openai_model},
          {"POST", "v1/completions", answer_completion<complete>},
          {"POST", "v1/chat/completions", answer_completion<complete_chat>}};
}

}  // namespace

Api serve_api_openai() { return {"openai", openai_routes}; }

}  // namespace hone
