// Continuations as text or JSON lines, in the order of the prompts.
//
//   GenerationPrinter printer({.json = true}, model, rows, prompts, config, print_out);
//   HONE_TRY(generator->run(prompts, config, printer.callbacks()));
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "learn/generate/generate.h"
#include "learn/generate/prompts.h"

namespace hone {

struct PrintOptions {
  bool json =
      false;  // {"prompt" or "prompt_tokens", "text", "tokens", "score" of beams}, one a line
  bool full_text = false;         // prompt and continuation
  bool counts_sequences = false;  // every text has a header with its number
  size_t prefix_bytes = 0;        // at the start of each prompt, not shown
  std::string stop_token = "";    // cuts a text; "": nothing does
};

class GenerationPrinter {
 public:
  using Sink = std::function<void(std::string_view)>;
  // All but the options must outlive it. A single continuation without beams, JSON and stop_token is written as it
  // comes.
  GenerationPrinter(PrintOptions options, const Pretrained& model,
                    const std::vector<PromptRow>& rows, std::span<const Prompt> prompts,
                    const GenerationConfig& config, Sink sink);
  GenerateCallbacks callbacks();  // for one run

 private:
  std::span<const int32_t> text_before(size_t prompt) const;
  std::string begin();
  std::string header(size_t prompt, size_t sequence);
  std::string shown_prompt(size_t i) const;
  std::string continuation(const Generated& g) const;
  void print(const std::vector<Generated>& all);
  std::string text_lines(const Generated& g);
  std::string json_line(const Generated& g) const;

  const PrintOptions options_;
  const Pretrained& model_;
  const std::vector<PromptRow>& rows_;
  std::span<const Prompt> prompts_;
  const Sink sink_;
  const bool beams_, several_;
  bool begun_ = false;
  std::optional<StreamingDecoder> stream_;
  std::map<size_t, std::vector<Generated>>
      waiting_;  // by prompt, until those before it are printed
  size_t next_ = 0, count_ = 0;
};

}  // namespace hone
