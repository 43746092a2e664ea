// The output for continuations that end in any order.
#include "learn/generate/printer.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

std::vector<Generated> done_prompt(size_t prompt, std::vector<int32_t> tokens) {
  return {{.prompt = prompt, .sequence = 0, .tokens = std::move(tokens)}};
}

TEST(GenerationPrinter, WritesInTheOrderOfThePrompts) {
  const Pretrained model{};  // without a tokenizer: ids
  const std::vector<PromptRow> rows{{{}, {1}}, {{}, {2}}, {{}, {3}}};
  const std::vector<Prompt> prompts{{{1}}, {{2}}, {{3}}};
  const GenerationConfig config;
  std::string text, lines;
  GenerationPrinter plain({}, model, rows, prompts, config, [&](std::string_view s) { text += s; });
  GenerationPrinter json({.json = true}, model, rows, prompts, config,
                         [&](std::string_view s) { lines += s; });
  for (GenerationPrinter* printer : {&plain, &json}) {
    const GenerateCallbacks callbacks = printer->callbacks();
    EXPECT_FALSE(callbacks.token);
    callbacks.done(done_prompt(2, {7}));
    callbacks.done(done_prompt(0, {8, 9}));
    callbacks.done(done_prompt(1, {6}));
  }
  EXPECT_EQ(text, "=== prompt 1 ===\n8 9\n=== prompt 2 ===\n6\n=== prompt 3 ===\n7\n");
  EXPECT_EQ(lines,
            "{\"prompt_tokens\": [1], \"tokens\": [8, 9]}\n"
            "{\"prompt_tokens\": [2], \"tokens\": [6]}\n"
            "{\"prompt_tokens\": [3], \"tokens\": [7]}\n");
}

TEST(GenerationPrinter, NumbersTheSequencesOfAScript) {
  const Pretrained model{};
  const std::vector<PromptRow> rows{{{}, {1}}};
  const std::vector<Prompt> prompts{{{1}}};
  std::string text;
  GenerationPrinter printer({.counts_sequences = true}, model, rows, prompts, GenerationConfig{},
                            [&](std::string_view s) { text += s; });
  printer.callbacks().done(done_prompt(0, {5}));
  EXPECT_EQ(text, "=== GENERATED SEQUENCE 1 ===\n5\n");
}

}  // namespace
}  // namespace hone
