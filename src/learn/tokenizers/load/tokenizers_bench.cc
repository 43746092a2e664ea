// Speed of GPT-2 tokenization. HONE_BENCH_TEXT and HONE_BENCH_TOKENIZER name the text and the
// tokenizer (../shared/data/wikitext2/test.txt and tok-gpt2 when unset).
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "learn/tokenizers/text/json_dom.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {
namespace {

std::string setting(const char* name, const char* fallback) {
  const char* set = std::getenv(name);
  return set ? set : fallback;
}
std::string tokenizer_path() { return setting("HONE_BENCH_TOKENIZER", "../shared/data/tok-gpt2"); }

void load(benchmark::State& state) {
  for (auto _ : state)
    if (!load_tokenizer(tokenizer_path()).ok()) return state.SkipWithError("no tokenizer");
}
BENCHMARK(load)->Unit(benchmark::kMillisecond);

// Lines as a data loader hands them over, on state.range(0) threads.
void encode_lines(benchmark::State& state) {
  auto tokenizer = load_tokenizer(tokenizer_path());
  auto text = read_text_file(setting("HONE_BENCH_TEXT", "../shared/data/wikitext2/test.txt"));
  if (!tokenizer.ok() || !text.ok()) return state.SkipWithError("no tokenizer or no text");
  std::vector<std::string_view> lines;
  for (size_t at = 0; at < text->size();) {
    const size_t stop = std::min(text->find('\n', at), text->size() - 1) + 1;
    lines.emplace_back(text->data() + at, stop - at);
    at = stop;
  }
  ThreadPool pool(static_cast<int>(state.range(0)));
  int64_t tokens = 0;
  for (auto _ : state)
    for (const auto& row : tokenizer->encode_batch(lines, &pool))
      tokens += static_cast<int64_t>(row.size());
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text->size()));
  state.counters["tokens/s"] =
      benchmark::Counter(static_cast<double>(tokens), benchmark::Counter::kIsRate);
}
BENCHMARK(encode_lines)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void encode_document(benchmark::State& state) {
  auto tokenizer = load_tokenizer(tokenizer_path());
  auto text = read_text_file(setting("HONE_BENCH_TEXT", "../shared/data/wikitext2/test.txt"));
  if (!tokenizer.ok() || !text.ok()) return state.SkipWithError("no tokenizer or no text");
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer->encode(*text));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text->size()));
}
BENCHMARK(encode_document)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hone
