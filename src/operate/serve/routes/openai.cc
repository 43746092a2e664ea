// OpenAI's completions, chat and models.
//   https://platform.openai.com/docs/api-reference
#include <atomic>
#include <random>

#include "operate/serve/protocol/chat_request.h"
#include "operate/serve/protocol/errors.h"
#include "operate/serve/protocol/json_body.h"
#include "operate/serve/protocol/stop_cutter.h"
#include "operate/serve/protocol/tool_calls.h"
#include "operate/serve/route.h"

namespace hone {
namespace {

constexpr int64_t kMostChoices = 64;

// OpenAI's names of settings.
constexpr KeyName kOpenaiNames[] = {{"max_tokens", "max_new_tokens"},
                                    {"max_completion_tokens", "max_new_tokens"},
                                    {"n", "num_return_sequences"},
                                    {"stop", "stop_strings"}};

WebAnswer openai_error(const Error& e) {
  const int status = status_of(e);
  const char* type = "invalid_request_error";
  if (status == 429) type = "rate_limit_exceeded";
  if (status >= 500) type = "server_error";
  const OrderedJson body{
      {"error",
       {{"message", line_of(e)},
        {"type", type},
        {"param", nullptr},
        {"code", status == 404 ? OrderedJson("model_not_found") : OrderedJson(e.code())}}}};
  return {status, dump_json(body) + "\n", "application/json", headers_of(e)};
}

Error bad(const std::string& key, const std::string& what) {
  return Error(err::kServeRequest, what).at(key);
}

struct Asked {
  bool chat = false, stream = false, usage = false;
  std::string id, model;
  int64_t created = 0, choices = 1;
  StopCutter::Stops stops = std::make_shared<const std::vector<std::string>>();
  std::vector<TextQuery> queries;
  std::set<std::string> tools;  // tools that the answer may call
  Json given;                   // settings of the body by OpenAI's names
  WebAnswer failed(const Error& e) const {
    return openai_error(with_names_of(e, given, kOpenaiNames));
  }
};

const OrderedJson kNone = nullptr;

uint64_t random_number() {
  thread_local std::mt19937_64 random{std::random_device{}()};
  return random();
}

// Nine letters and digits: the only form that Mistral's templates take.
std::string new_call_id() {
  std::string id;
  while (id.size() < 9)
    id += "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[random_number() % 62];
  return id;
}

OrderedJson calls_json(const std::vector<ToolCall>& calls, bool piece) {
  OrderedJson list = OrderedJson::array();
  for (const ToolCall& call : calls) {
    OrderedJson one = OrderedJson::object();
    if (piece) one["index"] = list.size();
    one["id"] = new_call_id();
    one["type"] = "function";
    one["function"] = {{"name", call.name}, {"arguments", call.arguments}};
    list.push_back(std::move(one));
  }
  return list;
}

OrderedJson choice_json(const Asked& a, int64_t index, const std::string& text,
                        const OrderedJson& reason, bool piece,
                        const std::vector<ToolCall>& calls = {}) {
  if (!a.chat)
    return {{"index", index}, {"text", text}, {"logprobs", nullptr}, {"finish_reason", reason}};
  OrderedJson said = OrderedJson::object();
  if (!piece || !text.empty()) said = {{"role", "assistant"}, {"content", text}};
  if (!calls.empty()) {
    said["role"] = "assistant";
    if (text.empty()) said["content"] = nullptr;
    said["tool_calls"] = calls_json(calls, piece);
  }
  return {{"index", index},
          {piece ? "delta" : "message", said},
          {"logprobs", nullptr},
          {"finish_reason", reason}};
}

OrderedJson one_choice(const Asked& a, size_t index, const std::string& text,
                       const OrderedJson& reason, const std::vector<ToolCall>& calls = {}) {
  OrderedJson list = OrderedJson::array();
  list.push_back(choice_json(a, static_cast<int64_t>(index), text, reason, true, calls));
  return list;
}

OrderedJson answer_head(const Asked& a, bool piece) {
  const char* object = piece ? "chat.completion.chunk" : "chat.completion";
  return {{"id", a.id},
          {"object", a.chat ? object : "text_completion"},
          {"created", a.created},
          {"model", a.model},
          {"choices", OrderedJson::array()}};
}

OrderedJson usage_json(int64_t prompt, int64_t written) {
  return {{"prompt_tokens", prompt},
          {"completion_tokens", written},
          {"total_tokens", prompt + written}};
}

// The use of a key of the body. Keys that are not listed are keys of generation_config.json.
enum class KeyUse {
  ignored,      // it changes no token
  read,         // openai_settings() and others read it
  zero,         // not supported; 0 says the same as leaving it out
  unsupported,  // not supported; an empty value says the same as leaving it out
};
constexpr std::pair<const char*, KeyUse> kOpenaiKeys[] = {{"user", KeyUse::ignored},
                                                          {"metadata", KeyUse::ignored},
                                                          {"store", KeyUse::ignored},
                                                          {"service_tier", KeyUse::ignored},
                                                          {"model", KeyUse::ignored},
                                                          {"safety_identifier", KeyUse::ignored},
                                                          {"prompt_cache_key", KeyUse::ignored},
                                                          {"parallel_tool_calls", KeyUse::ignored},
                                                          {"prompt", KeyUse::read},
                                                          {"stream", KeyUse::read},
                                                          {"stream_options", KeyUse::read},
                                                          {"n", KeyUse::read},
                                                          {"best_of", KeyUse::read},
                                                          {"stop", KeyUse::read},
                                                          {"max_tokens", KeyUse::read},
                                                          {"max_completion_tokens", KeyUse::read},
                                                          {"temperature", KeyUse::read},
                                                          {"frequency_penalty", KeyUse::zero},
                                                          {"presence_penalty", KeyUse::zero},
                                                          {"logprobs", KeyUse::unsupported},
                                                          {"top_logprobs", KeyUse::unsupported},
                                                          {"logit_bias", KeyUse::unsupported},
                                                          {"suffix", KeyUse::unsupported},
                                                          {"tools", KeyUse::unsupported},
                                                          {"functions", KeyUse::unsupported},
                                                          {"echo", KeyUse::unsupported},
                                                          {"response_format", KeyUse::unsupported}};

bool says_nothing(const Json& v) {
  return v.is_null() || v == Json(false) || ((v.is_array() || v.is_object()) && v.empty()) ||
         (v.is_object() && text_at(v, "type") == "text");
}

Status refuse_others(const Json& body, bool chat) {
  for (const auto& [key, use] : kOpenaiKeys) {
    const auto it = body.find(key);
    if (it == body.end() || it->is_null() || (chat && is_chat_key(key))) continue;
    if (use == KeyUse::zero && !(it->is_number() && it->get<double>() == 0))
      return bad(key, fmt::format("{} is not supported", key))
          .todo("use repetition_penalty, or leave it out");
    if (use == KeyUse::unsupported && !says_nothing(*it))
      return bad(key, fmt::format("{} is not supported", key)).todo("leave it out");
  }
  return Ok{};
}

bool is_openai_key(const std::string& key) {
  return std::any_of(std::begin(kOpenaiKeys), std::end(kOpenaiKeys),
                     [&](const auto& k) { return key == k.first; });
}

// OpenAI's settings: draws at temperature 1 unless it is 0; other keys are those of
// generation_config.json.
Result<Json> openai_settings(const Json& body, bool chat, int64_t longest, Asked& a) {
  HONE_TRY(refuse_others(body, chat));
  Json out = Json::object();
  double temperature = 1;
  for (const auto& [key, value] : body.items())
    if (!is_openai_key(key) && !value.is_null() && !(chat && is_chat_key(key)))
      out[key] = value;  // top_p, seed, and keys of generation_config.json
  const auto number = [&](const char* key, double& to) -> Status {
    const auto it = body.find(key);
    if (it == body.end() || it->is_null()) return Ok{};
    if (!it->is_number()) return bad(key, fmt::format("{} is not a number", key));
    to = it->get<double>();
    return Ok{};
  };
  const auto whole = [&](const char* key, int64_t& to) -> Status {
    const auto it = body.find(key);
    if (it == body.end() || it->is_null()) return Ok{};
    if (!it->is_number_integer() || it->get<int64_t>() < 1)
      return bad(key, fmt::format("{} is not a positive whole number", key));
    to = it->get<int64_t>();
    return Ok{};
  };
  HONE_TRY(number("temperature", temperature));
  if (temperature < 0 || temperature > 100)
    return bad("temperature", "temperature is not in 0 to 100");
  if (!out.contains("do_sample")) out["do_sample"] = temperature > 0;
  if (temperature > 0) out["temperature"] = temperature;
  if (!out.contains("top_k")) out["top_k"] = 0;
  int64_t most = chat ? longest : 16, best = 0;
  HONE_TRY(whole("max_tokens", most));
  HONE_TRY(whole("max_completion_tokens", most));
  out["max_new_tokens"] = most;
  HONE_TRY(whole("n", a.choices));
  HONE_TRY(whole("best_of", best));
  if (best > a.choices) return bad("best_of", "best_of is not supported").todo("use n");
  if (a.choices > kMostChoices) return bad("n", fmt::format("n is more than {}", kMostChoices));
  // Always set: the model's default may differ.
  if (const auto own = out.find("num_return_sequences"); own != out.end() && *own != a.choices)
    return bad("num_return_sequences",
               fmt::format("num_return_sequences is not n, which is {}", a.choices))
        .todo("leave it out and use n");
  out["num_return_sequences"] = a.choices;
  if (!out.contains("seed")) out["seed"] = static_cast<int64_t>(random_number() >> 1);
  if (const auto stop = body.find("stop"); stop != body.end() && !stop->is_null()) {
    const Json list = stop->is_array() ? *stop : Json::array({*stop});
    std::vector<std::string> stops;
    for (const Json& s : list) {
      if (!s.is_string() || s.get_ref<const std::string&>().empty() || list.size() > 16)
        return bad("stop", "stop is neither a text nor a list of at most 16 texts");
      stops.push_back(s.get<std::string>());
    }
    if (!stops.empty()) out["stop_strings"] = stops;
    a.stops = std::make_shared<const std::vector<std::string>>(std::move(stops));
  }
  if (const auto s = body.find("stream"); s != body.end() && !s->is_null()) {
    if (!s->is_boolean()) return bad("stream", "stream is not true or false");
    a.stream = s->get<bool>();
  }
  if (const auto s = body.find("stream_options"); s != body.end() && s->is_object())
    a.usage = s->value("include_usage", Json(false)) == Json(true);
  return out;
}

bool are_ids(const Json& list) {
  return list.is_array() && !list.empty() &&
         std::all_of(list.begin(), list.end(), [](const Json& v) {
           return v.is_number_integer() && v.get<int64_t>() >= 0 && v.get<int64_t>() <= INT32_MAX;
         });
}

Status read_prompts(const Json& body, Asked& a) {
  const auto prompt = body.find("prompt");
  if (prompt == body.end()) return bad("prompt", "the body has no prompt");
  const auto add = [&](const Json& one) -> Status {
    TextQuery q;
    if (one.is_string())
      q.text = one.get<std::string>();
    else if (are_ids(one))
      q.tokens = one.get<std::vector<int32_t>>();
    else
      return bad("prompt", "a prompt is neither a text nor a list of token ids");
    a.queries.push_back(std::move(q));
    return Ok{};
  };
  if (!prompt->is_array() || are_ids(*prompt)) return add(*prompt);
  HONE_TRY(check_text_count(prompt->size()));
  for (const Json& one : *prompt) HONE_TRY(add(one));
  return Ok{};
}

// Parses the body again with its keys in order: templates write tools as given.
Status read_chat(const RouteCall& call, const Json& body, const ServedModel& model, Asked& a) {
  const OrderedJson ordered = HONE_TRY(parse_ordered_json(call.request.body, "the body"));
  const auto tools = body.find("tools");
  const bool given = tools != body.end() && tools->is_array() && !tools->empty();
  const ChatTemplate* chat = HONE_TRY(model.chat_template(given));
  if (given && text_at(body, "tool_choice") != "none") a.tools = tool_names(*tools);
  TextQuery q;
  q.text = HONE_TRY(chat_text(ordered, *chat, model.tokenizer().parts()));
  q.special_tokens = false;  // the template writes them
  a.queries.push_back(std::move(q));
  return Ok{};
}

const char* reason_of(const Written& w, const ToolAnswer& said) {
  if (!said.calls.empty()) return "tool_calls";
  return w.ended ? "stop" : "length";
}

void send_whole(const std::shared_ptr<WebReply>& reply, const Asked& a,
                const std::vector<TextAnswer>& answers) {
  OrderedJson out = answer_head(a, false);
  int64_t prompt = 0, written = 0;
  for (const TextAnswer& answer : answers) {
    prompt += answer.prompt_tokens;
    written += answer.new_tokens;
    for (const Written& w : answer.texts) {
      StopCutter cut(a.stops);
      std::string text = cut.push(w.text);
      text += cut.finish();
      const ToolAnswer said = a.tools.empty() ? ToolAnswer{text, {}} : tool_answer(text, a.tools);
      out["choices"].push_back(choice_json(a, static_cast<int64_t>(out["choices"].size()),
                                           said.content, reason_of(w, said), false, said.calls));
    }
  }
  out["usage"] = usage_json(prompt, written);
  reply->send({200, dump_json(out) + "\n"});
}

void stream_pieces(RouteCall& call, const ModelSet::Model& model, const std::shared_ptr<Asked>& a) {
  struct State {
    bool begun = false;
    std::vector<StopCutter> cutters;
    std::vector<ToolStream> tools;
  };
  const auto state = std::make_shared<State>();
  for (int64_t i = 0; i < a->choices; ++i) {
    state->cutters.emplace_back(a->stops);
    state->tools.emplace_back(a->tools);
  }
  const auto write = [reply = call.reply, a, state](const OrderedJson& choices,
                                                    const OrderedJson& usage) {
    if (!std::exchange(state->begun, true))
      reply->begin({200, "", "text/event-stream", {{"Cache-Control", "no-cache"}}});
    OrderedJson out = answer_head(*a, true);
    out["choices"] = choices;
    if (!usage.is_null()) out["usage"] = usage;
    reply->write("data: " + dump_json(out) + "\n\n");
  };
  ask_pieces(
      *call.reply, model, std::move(a->queries[0]),
      [a, state, write](size_t sequence, const std::string& piece) {
        if (sequence >= state->cutters.size()) return;
        const std::string text = state->tools[sequence].push(state->cutters[sequence].push(piece));
        if (!text.empty()) write(one_choice(*a, sequence, text, kNone), kNone);
      },
      [reply = call.reply, a, state, write](Result<TextAnswer> answer) {
        if (!answer.ok()) {
          if (!state->begun) return reply->send(a->failed(answer.error()));
          reply->write("data: " + a->failed(answer.error()).body + "\n");
          return reply->end();
        }
        for (size_t i = 0; i < std::min(answer->texts.size(), state->cutters.size()); ++i) {
          const Written& w = answer->texts[i];
          std::string rest = state->tools[i].push(state->cutters[i].finish());
          const ToolAnswer said = state->tools[i].finish();
          rest += said.content;
          if (!rest.empty()) write(one_choice(*a, i, rest, kNone), kNone);
          if (!said.calls.empty()) write(one_choice(*a, i, "", kNone, said.calls), kNone);
          write(one_choice(*a, i, "", reason_of(w, said)), kNone);
        }
        if (a->usage)
          write(OrderedJson::array(), usage_json(answer->prompt_tokens, answer->new_tokens));
        reply->write("data: [DONE]\n\n");
        reply->end();
      });
}

Status complete(RouteCall& call, bool chat) {
  static std::atomic<uint64_t> count{0};
  const Json body = HONE_TRY(json_object(call.request.body));
  std::string name = text_at(body, "model"), version;
  if (const size_t at = name.find('@'); at != std::string::npos) {
    version = name.substr(at + 1);
    name.resize(at);
  }
  if (name.empty()) return bad("model", "the body names no model");
  const ModelSet::Model model = HONE_TRY(call.server.models.find(name, version));
  if (!writes_text(model->task()))
    return bad("model", fmt::format("'{}' is for {}", name, name_of(model->task())))
        .todo("send it to :predict");
  const auto a = std::make_shared<Asked>();
  a->chat = chat;
  for (const KeyName& name : kOpenaiNames)
    if (const auto it = body.find(name.theirs); it != body.end()) a->given[name.theirs] = *it;
  a->model = text_at(body, "model");
  const double now = call.server.clock->wall_seconds();
  a->created = static_cast<int64_t>(now);
  a->id = fmt::format("{}-{:x}{:08x}", chat ? "chatcmpl" : "cmpl", static_cast<uint64_t>(now * 1e6),
                      ++count);
  if (chat)
    HONE_TRY(read_chat(call, body, *model, *a));
  else
    HONE_TRY(read_prompts(body, *a));
  const auto settings =
      std::make_shared<const Json>(HONE_TRY(openai_settings(body, chat, model->longest(), *a)));
  for (TextQuery& q : a->queries) {
    q.settings = settings;
    q.deadline = call.server.deadline();
  }
  if (a->stream) {
    if (a->queries.size() != 1)
      return bad("stream", "several prompts are not streamed").todo("send them one by one");
    stream_pieces(call, model, a);
    return Ok{};
  }
  ask_all(*call.reply, model, std::move(a->queries),
          [reply = call.reply, a](Result<std::vector<TextAnswer>> all) {
            if (!all.ok()) return reply->send(a->failed(all.error()));
            send_whole(reply, *a, *all);
          });
  return Ok{};
}

// Also KServe v1's: its clients read name and ready, models.
OrderedJson model_json(const ServedModel& m) {
  return {
      {"id", m.name()},     {"object", "model"}, {"created", static_cast<int64_t>(m.loaded_at())},
      {"owned_by", "hone"}, {"name", m.name()},  {"ready", true}};
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

template <bool chat>
void answer_completion(RouteCall& call) {
  if (const Status s = complete(call, chat); !s.ok()) call.reply->send(openai_error(s.error()));
}

std::vector<Route> openai_routes(const ServeContext&) {
  return {{"GET", "v1/models", list_models},
          {"GET", "v1/models/{model}", describe_openai_model},
          {"POST", "v1/completions", answer_completion<false>, true},
          {"POST", "v1/chat/completions", answer_completion<true>, true}};
}

}  // namespace

Api serve_api_openai() { return {"openai", openai_routes}; }

}  // namespace hone
