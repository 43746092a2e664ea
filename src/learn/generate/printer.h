// Prints generated sequences as text or as JSON lines, in the order of the prompts.
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
  // true: prints a line with a JSON object for each sequence, with the keys "prompt" or "prompt_tokens", "text",
  // "tokens" and, with beam search, "score". false: prints the text alone.
  bool json = false;
  bool full_text = false;         // print the prompt in front of the generated text
  bool counts_sequences = false;  // print "=== GENERATED SEQUENCE 1 ===" before each text
  size_t prefix_bytes = 0;        // number of bytes to leave out at the start of each prompt
  std::string stop_token = "";    // a generated text is cut before the first stop_token; "": no cut
};

class GenerationPrinter {
 public:
  using Sink = std::function<void(std::string_view)>;
  // `model`, `rows` and the memory of `prompts` must outlive the printer. `sink` gets the output piece by piece. If the
  // whole output is a single sequence, it is printed token by token, unless beam search, JSON or a stop_token is used.
  // Otherwise a prompt's sequences are printed when this prompt and all prompts before it are done.
  GenerationPrinter(PrintOptions options, const Pretrained& model,
                    const std::vector<PromptRow>& rows, std::span<const Prompt> prompts,
                    const GenerationConfig& config, Sink sink);
  GenerateCallbacks callbacks();  // for one call of Generator::run()

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
  // Results of prompts that wait for an earlier prompt to be printed, by prompt.
  std::map<size_t, std::vector<Generated>> waiting_;
  size_t next_ = 0, count_ = 0;
};

}  // namespace hone
