#include "operate/serve/openai/response_answer.h"

namespace hone {
namespace {

// A part of an input: {"type": "input_text" or "output_text", "text"}.
Result<OrderedJson> message_parts(const OrderedJson& content, const std::string& place) {
  if (content.is_string()) return content;
  if (!content.is_array()) return bad_key(place, "the content is not a text");
  OrderedJson parts = OrderedJson::array();
  for (const OrderedJson& part : content) {
    const std::string type = text_at(part, "type");
    if ((type != "input_text" && type != "output_text" && type != "text") ||
        !value_at(part, "text").is_string())
      return bad_key(place, "a part of the content is not text");
    parts.push_back({{"type", "text"}, {"text", part["text"]}});
  }
  return parts;
}

OrderedJson text_part(const std::string& text, OrderedJson logprobs) {
  return {{"type", "output_text"},
          {"text", text},
          {"annotations", OrderedJson::array()},
          {"logprobs", logprobs.is_array() ? std::move(logprobs) : OrderedJson::array()}};
}

OrderedJson message_json(const ResponseAsked& a, const char* status, OrderedJson parts) {
  return {{"id", a.message_id},
          {"type", "message"},
          {"status", status},
          {"role", "assistant"},
          {"content", std::move(parts)}};
}

OrderedJson list_of(OrderedJson one) {
  OrderedJson list = OrderedJson::array();
  list.push_back(std::move(one));
  return list;
}

// The object that an answer is, and that the events of its beginning and end have.
OrderedJson response_json(const ResponseAsked& a, const char* status, OrderedJson output,
                          OrderedJson usage) {
  const auto given = [&](const char* key, OrderedJson absent) {
    const OrderedJson& v = value_at(a.body, key);
    return v.is_null() ? std::move(absent) : v;
  };
  OrderedJson text = given("text", OrderedJson::object());
  if (value_at(text, "format").is_null()) text["format"] = {{"type", "text"}};
  OrderedJson details = nullptr;
  if (std::string_view(status) == "incomplete") details["reason"] = "max_output_tokens";
  return {{"id", a.id},
          {"object", "response"},
          {"created_at", a.created},
          {"status", status},
          {"background", false},
          {"error", nullptr},
          {"incomplete_details", std::move(details)},
          {"instructions", given("instructions", nullptr)},
          {"max_output_tokens", given("max_output_tokens", nullptr)},
          {"model", a.body["model"]},
          {"output", std::move(output)},
          {"parallel_tool_calls", given("parallel_tool_calls", true)},
          {"previous_response_id", nullptr},
          {"reasoning", {{"effort", nullptr}, {"summary", nullptr}}},
          {"service_tier", "default"},
          {"store", false},
          {"temperature", given("temperature", 1.0)},
          {"text", std::move(text)},
          {"tool_choice", given("tool_choice", "auto")},
          {"tools", OrderedJson::array()},
          {"top_logprobs", given("top_logprobs", 0)},
          {"top_p", given("top_p", 1.0)},
          {"truncation", "disabled"},
          {"usage", std::move(usage)},
          {"user", given("user", nullptr)},
          {"metadata", given("metadata", OrderedJson::object())}};
}

OrderedJson response_usage(const TextAnswer& answer) {
  return {{"input_tokens", answer.prompt_tokens},
          {"input_tokens_details", {{"cached_tokens", 0}}},
          {"output_tokens", answer.new_tokens},
          {"output_tokens_details", {{"reasoning_tokens", 0}}},
          {"total_tokens", answer.prompt_tokens + answer.new_tokens}};
}

const char* status_of_answer(const Written& w) { return w.ended ? "completed" : "incomplete"; }

AnswerLogprobs new_response_logprobs(const ResponseAsked& a) {
  return {a.model->tokenizer(), AnswerLogprobs::Form::tokens};
}

// The events of one stream; used on the model's thread.
class ResponseStream {
 public:
  ResponseStream(std::shared_ptr<WebReply> reply, std::shared_ptr<ResponseAsked> asked)
      : reply_(std::move(reply)), a_(std::move(asked)), logprobs_(new_response_logprobs(*a_)) {}

  void token(const TokenLogprobs& one) { logprobs_.add(one); }
  void piece(const std::string& text) {
    start();
    text_ += text;
    OrderedJson tokens = logprobs_.take();
    for (const OrderedJson& one : tokens) all_logprobs_.push_back(one);
    event("response.output_text.delta",
          in_part({{"delta", text}, {"logprobs", std::move(tokens)}}));
  }
  void end(const Result<TextAnswer>& answer) {
    if (!answer.ok()) return fail(answer.error());
    start();
    const Written& w = answer->texts.front();
    const char* status = status_of_answer(w);
    const OrderedJson part = text_part(text_, all_logprobs_),
                      message = message_json(*a_, status, list_of(part));
    event("response.output_text.done", in_part({{"text", text_}, {"logprobs", all_logprobs_}}));
    event("response.content_part.done", in_part({{"part", part}}));
    event("response.output_item.done", {{"output_index", 0}, {"item", message}});
    event(w.ended ? "response.completed" : "response.incomplete",
          {{"response", response_json(*a_, status, list_of(message), response_usage(*answer))}});
    reply_->end();
  }

 private:
  OrderedJson in_part(const OrderedJson& more) const {
    OrderedJson out{{"item_id", a_->message_id}, {"output_index", 0}, {"content_index", 0}};
    out.update(more);
    return out;
  }
  void start() {
    if (std::exchange(started_, true)) return;
    reply_->begin({200, "", "text/event-stream", {{"Cache-Control", "no-cache"}}});
    const OrderedJson none = OrderedJson::array();
    const OrderedJson head = response_json(*a_, "in_progress", none, nullptr);
    event("response.created", {{"response", head}});
    event("response.in_progress", {{"response", head}});
    event("response.output_item.added",
          {{"output_index", 0}, {"item", message_json(*a_, "in_progress", none)}});
    event("response.content_part.added", in_part({{"part", text_part("", none)}}));
  }
  void fail(const Error& e) {
    const WebAnswer answer = a_->failed(e);
    if (!started_) return reply_->send(answer);
    const OrderedJson error = parse_ordered_json(answer.body, "error").value()["error"];
    event("error",
          {{"code", error["code"]}, {"message", error["message"]}, {"param", error["param"]}});
    reply_->end();
  }
  void event(const char* type, const OrderedJson& more) {
    OrderedJson out{{"type", type}, {"sequence_number", number_++}};
    out.update(more);
    reply_->write(fmt::format("event: {}\ndata: {}\n\n", type, dump_json(out)));
  }

  std::shared_ptr<WebReply> reply_;
  std::shared_ptr<ResponseAsked> a_;
  AnswerLogprobs logprobs_;
  OrderedJson all_logprobs_ = OrderedJson::array();
  std::string text_;
  int64_t number_ = 0;
  bool started_ = false;
};

}  // namespace

WebAnswer ResponseAsked::failed(const Error& e) const {
  Json given = Json::object();
  if (body.contains("max_output_tokens")) given["max_output_tokens"] = nullptr;
  return openai_error(named_as_in(given, e));
}

Result<OrderedJson> response_messages(const OrderedJson& body) {
  OrderedJson messages = OrderedJson::array();
  const OrderedJson &instructions = value_at(body, "instructions"),
                    &input = value_at(body, "input");
  if (!instructions.is_null() && !instructions.is_string())
    return bad_key("instructions", "instructions is not a text");
  if (instructions.is_string()) messages.push_back({{"role", "system"}, {"content", instructions}});
  if (input.is_string()) {
    messages.push_back({{"role", "user"}, {"content", input}});
    return messages;
  }
  if (!input.is_array() || input.empty())
    return bad_key("input", "input is neither a text nor a list of messages");
  for (size_t i = 0; i < input.size(); ++i) {
    const std::string place = fmt::format("input[{}]", i), type = text_at(input[i], "type");
    if (!input[i].is_object() || (!type.empty() && type != "message"))
      return bad_key(place, "an item of the input is not a message");
    if (text_at(input[i], "role").empty()) return bad_key(place, "a message has no role");
    OrderedJson parts = HONE_TRY(message_parts(value_at(input[i], "content"), place));
    messages.push_back({{"role", input[i]["role"]}, {"content", std::move(parts)}});
  }
  return messages;
}

std::string whole_response(const ResponseAsked& a, const TextAnswer& answer) {
  const Written& w = answer.texts.front();
  AnswerLogprobs logprobs = new_response_logprobs(a);
  for (const TokenLogprobs& one : w.logprobs) logprobs.add(one);
  const char* status = status_of_answer(w);
  const OrderedJson message = message_json(a, status, list_of(text_part(w.text, logprobs.take())));
  return dump_json(response_json(a, status, list_of(message), response_usage(answer))) + "\n";
}

void stream_response(const std::shared_ptr<WebReply>& reply,
                     const std::shared_ptr<ResponseAsked>& asked, TextQuery query) {
  const auto stream = std::make_shared<ResponseStream>(reply, asked);
  if (asked->settings.logprobs)
    query.on_token = [stream](size_t, const TokenLogprobs& one) { stream->token(one); };
  ask_pieces(
      *reply, asked->model, std::move(query),
      [stream](size_t, const std::string& text) { stream->piece(text); },
      [stream](const Result<TextAnswer>& answer) { stream->end(answer); });
}

}  // namespace hone
