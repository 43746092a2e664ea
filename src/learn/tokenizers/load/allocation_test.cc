// A warm thread encodes without allocating, however it splits and normalises.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

#include "learn/tokenizers/load/test_helpers.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HONE_COUNTS_ALLOCATIONS 1
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#undef HONE_COUNTS_ALLOCATIONS
#endif
#endif
#endif

namespace {
thread_local bool counting = false;
thread_local int64_t allocations = 0;
void count() { allocations += counting; }
}  // namespace

#ifdef HONE_COUNTS_ALLOCATIONS
// The allocator of every library in this program, operator new's too, with a count.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* malloc(size_t n) { return count(), __libc_malloc(n); }
void* calloc(size_t n, size_t of) { return count(), __libc_calloc(n, of); }
void* realloc(void* p, size_t n) { return count(), __libc_realloc(p, n); }
}
#endif

namespace hone {
namespace {

using nlohmann::json;

void expect_no_allocation(const std::string& name, const Tokenizer& t,
                          const std::vector<std::string>& texts) {
  std::vector<int32_t> ids;
  Encoding row;
  size_t cut = 0;  // pairs of which tokens were taken off
  const auto all = [&] {
    ids.clear();
    cut = 0;
    for (const std::string& text : texts) t.encode_to(text, ids);
    for (const bool left : {false, true})
      for (size_t i = 0; i < texts.size(); ++i) {
        const std::string& second = texts[(i + 1) % texts.size()];
        const TruncateOptions to_16{Truncation::longest_first, 16, left};
        if (!t.encode_to(texts[i], second, row, {}, {}).ok()) continue;
        const size_t whole = row.ids.size();
        if (t.encode_to(texts[i], second, row, {}, to_16).ok()) cut += row.ids.size() < whole;
      }
  };
  all();  // makes the caches and gives every buffer its size
  all();
  const size_t warm = ids.size();
  allocations = 0;
  counting = true;
  all();
  counting = false;
  EXPECT_EQ(allocations, 0) << name;
  EXPECT_EQ(ids.size(), warm);
  EXPECT_GT(cut, 0u) << name;
}

TEST(Allocation, AWarmThreadAllocatesNothing) {
#ifndef HONE_COUNTS_ALLOCATIONS
  GTEST_SKIP() << "the allocator of this build is not counted";
#endif
  allocations = 0;
  counting = true;
  std::vector<int> probe(1000);
  counting = false;
  ASSERT_EQ(allocations, 1) << probe.size();

  const json cases = json::parse(read(goldens() / "cases.json"));
  const json mini = json::parse(read(goldens() / "mini.json"));
  json vocab = json::object();
  for (size_t i = 0; i < mini["tokens"].size(); ++i)
    vocab[mini["tokens"][i].get<std::string>()] = i;
  const auto texts = cases["texts"].get<std::vector<std::string>>();
  for (const char* name :
       {"gpt2", "gpt2_prefix", "roberta", "llama3", "smollm", "o200k", "removed"}) {
    json spec = cases["pipelines"][name]["spec"];
    spec["model"] = cases["pipelines"][name]["model"];
    spec["model"]["vocab"] = vocab;
    spec["model"]["merges"] = mini["merges"];
    const Tokenizer t = must(Tokenizer::make(must(read_tokenizer_json(spec.dump(), name))));
    expect_no_allocation(name, t, texts);
  }
  const json pieces = json::parse(read(goldens() / "wordpiece.json"));
  const Tokenizer bert =
      must(Tokenizer::make(must(read_vocab_txt(read(goldens() / "wordpiece.txt"), "mini", {}))));
  expect_no_allocation("vocab.txt", bert, pieces["texts"].get<std::vector<std::string>>());
  const json unigram = json::parse(read(goldens() / "unigram.json"));
  for (const char* name : {"unigram", "unigram_bytes"}) {
    const Tokenizer t = must(Tokenizer::make(
        must(read_sentencepiece(read(goldens() / fmt::format("{}.model", name)), name, {}))));
    expect_no_allocation(name, t, unigram["texts"].get<std::vector<std::string>>());
  }
  const json translation = json::parse(read(goldens() / "translation.json"));
  const auto hard = translation["texts"].get<std::vector<std::string>>();
  for (const char* name : {"XLMRobertaTokenizer", "MBartTokenizer"}) {
    TokenizerConfig config;
    config.tokenizer_class = name;
    const Tokenizer t = must(
        Tokenizer::make(must(read_sentencepiece(read(goldens() / "unigram.model"), name, config))));
    expect_no_allocation(name, t, hard);
  }
  const auto folder = std::filesystem::path(testing::TempDir()) / "allocation marian";
  std::filesystem::create_directories(folder);
  const auto overwrite = std::filesystem::copy_options::overwrite_existing;
  for (const char* name : {"source.spm", "target.spm"})
    std::filesystem::copy_file(goldens() / "unigram.model", folder / name, overwrite);
  std::ofstream(folder / "vocab.json") << translation["vocabularies"]["shared"].dump();
  std::ofstream(folder / "tokenizer_config.json") << R"({"tokenizer_class":"MarianTokenizer"})";
  expect_no_allocation("Marian", must(load_tokenizer(folder.string())), hard);
  TokenizerConfig llama;
  llama.tokenizer_class = "LlamaTokenizer";
  for (const TokenizerConfig& config : {TokenizerConfig(), llama}) {
    const std::string model = read(goldens() / "sentencepiece.model");
    const Tokenizer t = must(Tokenizer::make(must(read_sentencepiece(model, "mini", config))));
    expect_no_allocation("sentencepiece " + config.tokenizer_class, t, texts);
  }
}

}  // namespace
}  // namespace hone
