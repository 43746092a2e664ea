// Helpers for the tests of tokenizers: expected values (goldens), the data folder, and the same hashes and random
// texts as in tools/golden_tokenizers.py.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/core/hash.h"
#include "base/core/json.h"
#include "learn/tokenizers/load/loaders.h"

namespace hone {

inline std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline std::filesystem::path goldens() {
  return std::filesystem::path(HONE_SOURCE_DIR) / "tests/goldens/tokenizers";
}
inline std::filesystem::path data_folder() {
  const char* set = std::getenv("HONE_DATA");
  return set ? std::filesystem::path(set)
             : std::filesystem::path(HONE_SOURCE_DIR) / "../shared/data";
}

template <class T>
T must(Result<T> r) {
  if (!r.ok()) throw std::runtime_error(r.error().text());
  return std::move(r).value();
}

inline Tokenizer from_json(const std::string& text, const TokenizerConfig& config = {}) {
  return must(Tokenizer::make(must(read_tokenizer_json(text, "tokenizer.json", config))));
}
inline constexpr EncodeOptions kPlain = {.add_special_tokens = false, .split_special_tokens = true};

inline uint64_t fnv(uint64_t h, uint32_t value) {
  for (int i = 0; i < 4; ++i) h = fnv1a(h, value >> (8 * i) & 0xff);
  return h;
}
template <class Rows>
std::string fnv_rows(const Rows& rows) {
  uint64_t h = kFnvBasis;
  for (const auto& row : rows) {
    for (const auto id : row) h = fnv(h, static_cast<uint32_t>(id));
    h = fnv(h, 0x7fffffff);
  }
  return fmt::format("{:016x}", h);
}
inline std::vector<int> bytes_of(const std::string& s) {
  std::vector<int> out;
  for (const char c : s) out.push_back(static_cast<unsigned char>(c));
  return out;
}

inline std::vector<std::string> random_texts(const nlohmann::json& parts, int count,
                                             uint64_t state) {
  const auto draw = [&](uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
  };
  std::vector<std::string> texts(static_cast<size_t>(count));
  for (std::string& text : texts)
    for (uint64_t n = 1 + draw(24); n > 0; --n)
      text += parts[draw(parts.size())].get<std::string>();
  return texts;
}

inline std::vector<std::vector<int32_t>> encode_all(const Tokenizer& t,
                                                    const std::vector<std::string>& texts,
                                                    const EncodeOptions& options = {}) {
  std::vector<std::vector<int32_t>> rows;
  for (const std::string& text : texts) rows.push_back(t.encode(text, options));
  return rows;
}

// Expects that the decoded rows, with and without special tokens, have the hashes in `want`.
inline void expect_decoded(const Tokenizer& t, const std::vector<std::vector<int32_t>>& rows,
                           const nlohmann::json& want) {
  std::vector<std::vector<int>> decoded, skipped;
  for (const auto& row : rows) {
    decoded.push_back(bytes_of(t.decode(row)));
    skipped.push_back(bytes_of(t.decode(row, true)));
  }
  EXPECT_EQ(fnv_rows(decoded), want["decoded"].get<std::string>());
  EXPECT_EQ(fnv_rows(skipped), want["skipped"].get<std::string>());
}

// Expects that the ids of the texts, also with split_special_tokens, and the decoded texts have the hashes in `want`.
// Returns the ids of `texts`.
inline std::vector<std::vector<int32_t>> expect_pipeline(const Tokenizer& t,
                                                         const nlohmann::json& want,
                                                         const std::vector<std::string>& texts,
                                                         const std::vector<std::string>& random) {
  auto rows = encode_all(t, texts);
  EXPECT_EQ(fnv_rows(rows), want["ids"].get<std::string>());
  EXPECT_EQ(fnv_rows(encode_all(t, random)), want["random"].get<std::string>());
  EXPECT_EQ(fnv_rows(encode_all(t, texts, {.split_special_tokens = true})),
            want["split"].get<std::string>());
  expect_decoded(t, rows, want);
  return rows;
}

inline const char* const kCorpora[] = {"tinyshakespeare/input.txt", "wikitext2/test.txt",
                                       "wikitext2/valid.txt"};

// Expects that the ids of the texts, the random texts and the corpora in the data folder have the hashes in `want`.
// Returns the ids of the corpora.
inline std::vector<std::vector<int32_t>> expect_golden_ids(const Tokenizer& t,
                                                           const nlohmann::json& want,
                                                           const std::vector<std::string>& texts,
                                                           const std::vector<std::string>& random,
                                                           const EncodeOptions& options = {}) {
  EXPECT_EQ(fnv_rows(encode_all(t, texts, options)), want["texts"].get<std::string>());
  EXPECT_EQ(fnv_rows(encode_all(t, random, options)), want["random"].get<std::string>());
  std::vector<std::vector<int32_t>> corpora;
  for (size_t i = 0; i < std::size(kCorpora); ++i) {
    corpora.push_back(t.encode(read(data_folder() / kCorpora[i]), options));
    EXPECT_EQ(fnv_rows(std::span(&corpora[i], 1)), want["corpora"][i].get<std::string>())
        << kCorpora[i];
  }
  return corpora;
}

// The 46 difficult texts in the data folder tok-gguf, and the ids that llama.cpp gives them with one of the
// vocabularies there.
struct HardTexts {
  std::vector<std::string> texts;
  std::vector<std::vector<int32_t>> ids;
};
inline HardTexts hard_texts(const std::string& vocabulary) {
  HardTexts hard;
  const std::string inputs = read(data_folder() / "tok-gguf/inputs.inp"),
                    separator = "\n__ggml_vocab_test__\n";
  std::ifstream lines(data_folder() / fmt::format("tok-gguf/ggml-vocab-{}.gguf.out", vocabulary));
  std::string line;
  for (size_t at = 0; at <= inputs.size() && std::getline(lines, line);) {
    const size_t stop = std::min(inputs.find(separator, at), inputs.size());
    hard.texts.push_back(inputs.substr(at, stop - at));
    at = stop + separator.size();
    std::istringstream ids(line);
    hard.ids.emplace_back();
    for (int32_t id; ids >> id;) hard.ids.back().push_back(id);
  }
  return hard;
}

}  // namespace hone
