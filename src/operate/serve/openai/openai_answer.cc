#include "operate/serve/openai/openai_answer.h"

#include <random>

#include "base/core/characters.h"

namespace hone {
namespace {

// Nine letters and digits: the only form that Mistral's templates take.
std::string new_call_id() {
  thread_local std::mt19937_64 random{std::random_device{}()};
  std::string id;
  while (id.size() < 9)
    id += "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[random() % 62];
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

const char* reason_of(const Written& w, const ToolAnswer& said) {
  if (!said.calls.empty()) return "tool_calls";
  return w.ended ? "stop" : "length";
}

// A choice, or a piece of one.
struct ChoiceText {
  int64_t index = 0;
  std::string text = "";
  OrderedJson reason = nullptr, logprobs = nullptr;
  std::vector<ToolCall> calls = {};
};

OrderedJson choice_json(const OpenaiAsked& a, const ChoiceText& c, bool piece) {
  if (!a.chat)
    return {{"index", c.index},
            {"text", c.text},
            {"logprobs", c.logprobs},
            {"finish_reason", c.reason}};
  OrderedJson said = OrderedJson::object();
  if (!piece || !c.text.empty()) said = {{"role", "assistant"}, {"content", c.text}};
  if (!c.calls.empty()) {
    said["role"] = "assistant";
    if (c.text.empty()) said["content"] = nullptr;
    said["tool_calls"] = calls_json(c.calls, piece);
  }
  if (!piece) said["refusal"] = nullptr;
  return {{"index", c.index},
          {piece ? "delta" : "message", said},
          {"logprobs", c.logprobs},
          {"finish_reason", c.reason}};
}

// The tokens taken from `logprobs`, in the form of a choice.
OrderedJson take_logprobs(const OpenaiAsked& a, AnswerLogprobs& logprobs) {
  if (!a.settings.logprobs) return nullptr;
  OrderedJson tokens = logprobs.take();
  if (!a.chat) return tokens;
  return {{"content", std::move(tokens)}, {"refusal", nullptr}};
}

OrderedJson answer_head(const OpenaiAsked& a, bool piece) {
  const char* object = piece ? "chat.completion.chunk" : "chat.completion";
  return {{"id", a.id},
          {"object", a.chat ? object : "text_completion"},
          {"created", a.created},
          {"model", a.model_name},
          {"choices", OrderedJson::array()}};
}

ChoiceText whole_choice(const OpenaiAsked& a, const std::string& prompt, const TextAnswer& answer,
                        const Written& w) {
  const OpenaiSettings& s = a.settings;
  AnswerLogprobs logprobs = a.new_logprobs();
  if (s.echo && !answer.prompt.empty()) {
    logprobs.add_first(answer.prompt[0]);
    for (const TokenLogprobs& one : answer.prompt_logprobs) logprobs.add(one);
  }
  if (s.echo) logprobs.set_offset(count_characters(prompt));
  ChoiceText c;
  c.text = prompt;
  if (s.only_prompt) {
    c.reason = "length";
    c.logprobs = take_logprobs(a, logprobs);
    return c;
  }
  bool stopped = false;
  const std::string text = cut_text(s.stops, w.text, stopped);
  ToolAnswer said = a.tools.empty() ? ToolAnswer{text, {}} : tool_answer(text, a.tools);
  for (const TokenLogprobs& one : w.logprobs) logprobs.add(one);
  if (stopped) logprobs.cut(count_characters(prompt) + count_characters(text));
  c.reason = reason_of(w, said);
  c.text += said.content;
  c.calls = std::move(said.calls);
  c.logprobs = take_logprobs(a, logprobs);
  return c;
}

// The events of one stream; used on the model's thread.
class ChoiceStream {
 public:
  ChoiceStream(std::shared_ptr<WebReply> reply, std::shared_ptr<OpenaiAsked> asked)
      : reply_(std::move(reply)), a_(std::move(asked)) {
    for (int64_t i = 0; i < a_->settings.choices; ++i)
      choices_.push_back(
          {StopCutter(a_->settings.stops), ToolStream(a_->tools), a_->new_logprobs()});
  }

  void token(size_t sequence, const TokenLogprobs& one) {
    if (sequence < choices_.size()) choices_[sequence].logprobs.add(one);
  }
  void piece(size_t sequence, const std::string& text) {
    if (sequence >= choices_.size() || a_->settings.only_prompt) return;
    Choice& c = choices_[sequence];
    give(sequence, c.tools.push(c.cut.push(text)));
  }
  void end(const Result<TextAnswer>& answer) {
    if (!answer.ok()) {
      if (!started_) return reply_->send(a_->failed(answer.error()));
      reply_->write("data: " + a_->failed(answer.error()).body + "\n");
      return reply_->end();
    }
    for (size_t i = 0; i < std::min(answer->texts.size(), choices_.size()); ++i)
      end_choice(i, answer->texts[i]);
    if (a_->settings.usage)
      write(OrderedJson::array(),
            usage_json(answer->prompt_tokens, a_->settings.only_prompt ? 0 : answer->new_tokens));
    reply_->write("data: [DONE]\n\n");
    reply_->end();
  }

 private:
  struct Choice {
    StopCutter cut;
    ToolStream tools;
    AnswerLogprobs logprobs;
    int64_t chars = 0;  // given so far
    bool started = false;
  };

  void give(size_t i, std::string text) {
    Choice& c = choices_[i];
    c.chars += count_characters(text);
    if (c.cut.stopped()) c.logprobs.cut(c.chars);
    if (!std::exchange(c.started, true) && !a_->prompts.empty()) text = a_->prompts[0] + text;
    if (text.empty()) return;
    write_choice(
        {static_cast<int64_t>(i), std::move(text), nullptr, take_logprobs(*a_, c.logprobs)});
  }
  void end_choice(size_t i, const Written& w) {
    Choice& c = choices_[i];
    const auto index = static_cast<int64_t>(i);
    std::string rest = c.tools.push(c.cut.finish());
    ToolAnswer said = c.tools.finish();
    give(i, a_->settings.only_prompt ? "" : rest + said.content);
    if (!said.calls.empty()) write_choice({index, "", nullptr, nullptr, said.calls});
    ChoiceText last{index, "", a_->settings.only_prompt ? "length" : reason_of(w, said)};
    // An end token comes after the last text.
    if (!c.logprobs.empty()) last.logprobs = take_logprobs(*a_, c.logprobs);
    write_choice(last);
  }
  void write_choice(const ChoiceText& c) {
    OrderedJson list = OrderedJson::array();
    list.push_back(choice_json(*a_, c, true));
    write(list, nullptr);
  }
  void write(const OrderedJson& choices, const OrderedJson& usage) {
    if (!std::exchange(started_, true))
      reply_->begin({200, "", "text/event-stream", {{"Cache-Control", "no-cache"}}});
    OrderedJson out = answer_head(*a_, true);
    out["choices"] = choices;
    if (!usage.is_null()) out["usage"] = usage;
    reply_->write("data: " + dump_json(out) + "\n\n");
  }

  std::shared_ptr<WebReply> reply_;
  std::shared_ptr<OpenaiAsked> a_;
  std::vector<Choice> choices_;
  bool started_ = false;
};

}  // namespace

std::string cut_text(const StopCutter::Stops& stops, const std::string& text, bool& stopped) {
  StopCutter cut(stops);
  std::string out = cut.push(text);
  out += cut.finish();
  stopped = cut.stopped();
  return out;
}

OrderedJson usage_json(int64_t prompt, int64_t written) {
  return {{"prompt_tokens", prompt},
          {"completion_tokens", written},
          {"total_tokens", prompt + written}};
}

std::string whole_answer(const OpenaiAsked& a, const std::vector<TextAnswer>& answers) {
  OrderedJson out = answer_head(a, false);
  int64_t prompt = 0, written = 0;
  for (size_t i = 0; i < answers.size(); ++i) {
    prompt += answers[i].prompt_tokens;
    written += a.settings.only_prompt ? 0 : answers[i].new_tokens;
    for (const Written& w : answers[i].texts) {
      ChoiceText c = whole_choice(a, i < a.prompts.size() ? a.prompts[i] : "", answers[i], w);
      c.index = static_cast<int64_t>(out["choices"].size());
      out["choices"].push_back(choice_json(a, c, false));
    }
  }
  out["usage"] = usage_json(prompt, written);
  return dump_json(out) + "\n";
}

void stream_answer(const std::shared_ptr<WebReply>& reply,
                   const std::shared_ptr<OpenaiAsked>& asked, TextQuery query) {
  const auto stream = std::make_shared<ChoiceStream>(reply, asked);
  if (asked->settings.logprobs)
    query.on_token = [stream](size_t i, const TokenLogprobs& one) { stream->token(i, one); };
  ask_pieces(
      *reply, asked->model, std::move(query),
      [stream](size_t i, const std::string& text) { stream->piece(i, text); },
      [stream](const Result<TextAnswer>& answer) { stream->end(answer); });
}

}  // namespace hone
