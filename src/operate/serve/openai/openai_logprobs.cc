#include "operate/serve/openai/openai_logprobs.h"

#include <algorithm>

#include "base/core/characters.h"
#include "base/unicode/unicode.h"

namespace hone {
namespace {

// The bytes that a token adds within a text; those of a special token are its name.
std::string bytes_within(const Tokenizer& tokenizer, int32_t id) {
  std::string bytes;
  Tokenizer::DecodeState within{.first = false, .lead_taken = -1};
  tokenizer.decode_next(id, false, within, bytes);
  return bytes;
}

OrderedJson logprob_json(const Tokenizer& tokenizer, int32_t id, float logprob) {
  OrderedJson bytes = OrderedJson::array();
  for (const char c : bytes_within(tokenizer, id)) bytes.push_back(static_cast<uint8_t>(c));
  return {{"token", token_text(tokenizer, id)}, {"logprob", logprob}, {"bytes", bytes}};
}

}  // namespace

std::string token_text(const Tokenizer& tokenizer, int32_t id) {
  const std::string bytes = bytes_within(tokenizer, id);
  if (lossy_utf8(bytes) == bytes) return bytes;
  std::string text = "bytes:";
  for (const char c : bytes) text += fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
  return text;
}

OrderedJson token_logprobs_json(const Tokenizer& tokenizer, const TokenLogprobs& one) {
  OrderedJson out = logprob_json(tokenizer, one.token, one.logprob);
  OrderedJson top = OrderedJson::array();
  for (const Candidate& c : one.top) top.push_back(logprob_json(tokenizer, c.token, c.score));
  out["top_logprobs"] = std::move(top);
  return out;
}

void AnswerLogprobs::add_entry(Entry entry) {
  const int32_t id = entry.token.token;
  const bool special = tokenizer_->is_special(id);
  if (special && form_ == Form::tokens) return;
  entries_.push_back(std::move(entry));
  if (!special) offset_ += count_characters(bytes_within(*tokenizer_, id));
}

void AnswerLogprobs::add_first(int32_t id) { add_entry({offset_, {id}, false}); }
void AnswerLogprobs::add(const TokenLogprobs& one) { add_entry({offset_, one, true}); }

void AnswerLogprobs::cut(int64_t chars) {
  while (!entries_.empty() && entries_.back().offset >= chars) entries_.pop_back();
}

OrderedJson AnswerLogprobs::lists() const {
  OrderedJson offsets = OrderedJson::array(), logprobs = offsets, tokens = offsets, tops = offsets;
  for (const Entry& e : entries_) {
    offsets.push_back(e.offset);
    tokens.push_back(token_text(*tokenizer_, e.token.token));
    logprobs.push_back(e.has_logprob ? OrderedJson(e.token.logprob) : OrderedJson());
    OrderedJson top = OrderedJson::object();
    for (const Candidate& c : e.token.top) {  // of equal texts the most probable
      const std::string text = token_text(*tokenizer_, c.token);
      if (!top.contains(text)) top[text] = c.score;
    }
    if (e.has_logprob) top[tokens.back().get<std::string>()] = e.token.logprob;
    tops.push_back(e.has_logprob ? std::move(top) : OrderedJson());
  }
  return {{"text_offset", offsets},
          {"token_logprobs", logprobs},
          {"tokens", tokens},
          {"top_logprobs", tops}};
}

OrderedJson AnswerLogprobs::take() {
  OrderedJson out;
  if (form_ == Form::lists && !entries_.empty()) out = lists();
  if (form_ == Form::tokens) {
    out = OrderedJson::array();
    for (const Entry& e : entries_) out.push_back(token_logprobs_json(*tokenizer_, e.token));
  }
  entries_.clear();
  return out;
}

}  // namespace hone
