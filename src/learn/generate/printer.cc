#include "learn/generate/printer.h"

#include "base/core/json.h"

namespace hone {

GenerationPrinter::GenerationPrinter(PrintOptions options, const Pretrained& model,
                                     const std::vector<PromptRow>& rows,
                                     std::span<const Prompt> prompts,
                                     const GenerationConfig& config, Sink sink)
    : options_(std::move(options)),
      model_(model),
      rows_(rows),
      prompts_(prompts),
      sink_(std::move(sink)),
      beams_(config.num_beams > 1),
      several_(rows.size() * static_cast<size_t>(config.num_return_sequences) > 1) {
  if (model.tokenizer && !options_.json && !several_ && !beams_ && options_.stop_token.empty()) {
    stream_.emplace(*model.tokenizer);
    const std::span<const int32_t> before = text_before(0);
    for (int32_t id : before.last(std::min<size_t>(before.size(), 8))) stream_->push(id);
  }
}

GenerateCallbacks GenerationPrinter::callbacks() {
  GenerateCallbacks c;
  if (stream_) c.token = [this](size_t, size_t, int32_t id) { sink_(begin() + stream_->push(id)); };
  c.done = [this](std::vector<Generated> all) {
    waiting_[all[0].prompt] = std::move(all);
    for (auto it = waiting_.begin(); it != waiting_.end() && it->first == next_; ++next_) {
      print(it->second);
      it = waiting_.erase(it);
    }
  };
  return c;
}

// The tokens that the new ones follow; what an encoder-decoder writes begins a text.
std::span<const int32_t> GenerationPrinter::text_before(size_t prompt) const {
  if (!prompts_[prompt].source.empty()) return {};
  return prompts_[prompt].tokens;
}

// The text before the only continuation, once.
std::string GenerationPrinter::begin() {
  if (begun_) return "";
  begun_ = true;
  return header(0, 0);
}

std::string GenerationPrinter::header(size_t prompt, size_t sequence) {
  std::string text;
  if (options_.counts_sequences)
    text = fmt::format("=== GENERATED SEQUENCE {} ===\n", ++count_);
  else if (several_)
    text = fmt::format("=== prompt {}{} ===\n", prompt + 1,
                       sequence > 0 ? fmt::format(", sequence {}", sequence + 1) : "");
  return text + (options_.full_text ? shown_prompt(prompt) : "");
}

std::string GenerationPrinter::shown_prompt(size_t i) const {
  if (rows_[i].text) return rows_[i].text->substr(options_.prefix_bytes);
  return model_.tokenizer ? model_.tokenizer->decode(rows_[i].tokens, true) : "";
}

std::string GenerationPrinter::continuation(const Generated& g) const {
  std::string text = continuation_text(*model_.tokenizer, text_before(g.prompt), g.tokens);
  if (!options_.stop_token.empty())
    text.resize(std::min(text.size(), text.find(options_.stop_token)));
  return text;
}

void GenerationPrinter::print(const std::vector<Generated>& all) {
  if (stream_) return sink_(begin() + stream_->finish() + "\n");
  std::string out;
  for (const Generated& g : all) out += options_.json ? json_line(g) : text_lines(g);
  sink_(out);
}

std::string GenerationPrinter::text_lines(const Generated& g) {
  const std::string text =
      model_.tokenizer ? continuation(g) : fmt::format("{}", fmt::join(g.tokens, " "));
  return header(g.prompt, g.sequence) + text + "\n";
}

std::string GenerationPrinter::json_line(const Generated& g) const {
  OrderedJson line;
  const PromptRow& row = rows_[g.prompt];
  if (row.text)
    line["prompt"] = shown_prompt(g.prompt);
  else
    line["prompt_tokens"] = row.tokens;
  if (model_.tokenizer)
    line["text"] = (options_.full_text ? shown_prompt(g.prompt) : "") + continuation(g);
  line["tokens"] = g.tokens;
  if (beams_) line["score"] = g.score;
  return dump_json(line) + "\n";
}

}  // namespace hone
