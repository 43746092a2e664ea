// Time to find the tokens that may follow, with a vocabulary of 50,000 pieces of words.
#include <benchmark/benchmark.h>

#include "learn/grammar/json_schema.h"
#include "learn/grammar/token_masks.h"

namespace hone {
namespace {

std::shared_ptr<const TokenTrie> words_trie() {
  static const auto trie = [] {
    std::vector<std::string> tokens;
    for (int b = 0; b < 256; ++b) tokens.emplace_back(1, static_cast<char>(b));
    uint32_t random = 1;
    while (tokens.size() < 50000) {
      std::string word = random >> 31 != 0 ? " " : "";
      for (size_t length = 2 + (random >> 8) % 7; word.size() < length;) {
        random = random * 1664525 + 1013904223;
        word += static_cast<char>('a' + (random >> 16) % 26);
      }
      tokens.push_back(word);
    }
    return std::make_shared<const TokenTrie>(static_cast<int64_t>(tokens.size()), [&](int32_t id) {
      return std::string_view(tokens[static_cast<size_t>(id)]);
    });
  }();
  return trie;
}

// The place after `text` of a schema.
struct MaskPlace {
  MaskPlace(const char* schema, const std::string& text)
      : masks({schema_automaton(parse_ordered_json(schema, "bench").value()).value(), words_trie()},
              {}),
        place(masks.begin()) {
    for (const char c : text) masks.advance(place, static_cast<uint8_t>(c));
  }
  TokenMasks masks;
  TokenMasks::Place place;
};

// A place that is new each time: its automaton's sets are found while the vocabulary is walked.
void mask_of_new_place(benchmark::State& state, const char* schema, const char* text) {
  for (auto _ : state) {
    state.PauseTiming();
    MaskPlace p(schema, text);
    state.ResumeTiming();
    benchmark::DoNotOptimize(p.masks.allowed(p.place));
  }
}
BENCHMARK_CAPTURE(mask_of_new_place, string, "{}", "{\"")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(mask_of_new_place, value, "{}", "{\"a\":")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(mask_of_new_place, bounded, R"({"maxLength": 1000})", "\"abc")
    ->Unit(benchmark::kMicrosecond);
// The most work that one search may take: it is given up.
BENCHMARK_CAPTURE(mask_of_new_place, given_up,
                  R"({"pattern": "^([a-z ]{0,200}[a-z ]{0,200}[a-z ]{0,200})+$"})", "\"abc")
    ->Unit(benchmark::kMicrosecond);

void mask_of_known_place(benchmark::State& state) {
  MaskPlace p("{}", "{\"");
  for (auto _ : state) benchmark::DoNotOptimize(p.masks.allowed(p.place));
}
BENCHMARK(mask_of_known_place);

}  // namespace
}  // namespace hone
