#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "base/store/store.h"
#include "base/store/temporary_folder.h"
#include "learn/data/dedup/duplicates.h"
#include "learn/data/dedup/sections.h"

namespace hone {
namespace {

using ::testing::ElementsAre;
using Kind = DedupOptions::Kind;

std::vector<TextKey> keys_of(Fingerprints& prints, std::string_view text) {
  std::vector<TextKey> keys;
  prints.keys_of(text, keys);
  return keys;
}

// The numbers of datasketch's _optimal_param.
TEST(Dedup, BandsAreThoseOfDatasketch) {
  EXPECT_EQ(optimal_bands(0.5, 128), (Bands{25, 5}));
  EXPECT_EQ(optimal_bands(0.8, 128), (Bands{9, 13}));
}

TEST(Dedup, ExactKeysIgnoreCaseBlanksAndNormalForm) {
  EXPECT_EQ(normalized_for_dedup("  The\tCAT \n\n sat\xc2\xa0on  "), "the cat sat on");
  EXPECT_EQ(normalized_for_dedup(" \n"), "");
  Fingerprints exact({.kind = Kind::kExact});
  EXPECT_EQ(keys_of(exact, "Caf\xc3\xa9 A"), keys_of(exact, "cafe\xcc\x81  a\n"));
  EXPECT_NE(keys_of(exact, "cafe a"), keys_of(exact, "cafe b"));
  EXPECT_EQ(keys_of(exact, "").size(), 1u);
}

std::string words_of(std::mt19937& random, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("w{} ", random() % 5000);
  return text;
}

// Estimated similarity: the share of pairs that share a key follows 1 - (1 - s^r)^b.
TEST(Dedup, MinHashFindsSimilarTexts) {
  Fingerprints prints({.kind = Kind::kMinHash, .num_perm = 128, .threshold = 0.5, .ngram = 1});
  ASSERT_EQ(prints.bands(), (Bands{25, 5}));
  std::mt19937 random(1);
  const auto found = [&](int shared, int own) {
    int pairs = 0;
    for (int i = 0; i < 200; ++i) {
      const std::string same = words_of(random, shared);
      const auto a = keys_of(prints, same + words_of(random, own));
      const auto b = keys_of(prints, words_of(random, own) + same);
      EXPECT_EQ(a.size(), 25u);
      for (size_t k = 0; k < a.size(); ++k)
        if (a[k] == b[k]) {
          ++pairs;
          break;
        }
    }
    return pairs;
  };
  EXPECT_GT(found(80, 10), 195);   // s = 0.8: 1 - (1 - 0.33)^25
  EXPECT_LT(found(20, 80), 20);    // s = 0.11
  const int half = found(60, 30);  // s = 0.5: 0.55
  EXPECT_GT(half, 80);
  EXPECT_LT(half, 140);
  EXPECT_TRUE(keys_of(prints, "too few words, four").empty());
  EXPECT_EQ(keys_of(prints, "The cat sat, on it!"), keys_of(prints, "the CAT sat on it"));
}

TEST(Dedup, TheFirstOfAClusterStays) {
  // Each of the texts 0.0, 0.1, 0.2 and 1.1 shares a key with the next one.
  const TextKey a{1, 1}, b{uint64_t{1} << 63, 2}, c{UINT64_MAX, 3};
  KeyWriter first(2), second(2);
  for (const TextKey& key : {a}) first.add(key, 0, 0);
  for (const TextKey& key : {a, b}) first.add(key, 0, 1);
  for (const TextKey& key : {b, c}) first.add(key, 0, 2);
  first.add(c, 1, 3);  // of another split
  second.add(c, 0, 1);
  std::vector<DuplicatePair> pairs;
  for (size_t part = 0; part < 2; ++part)
    append_pairs(pairs_to_bytes(find_pairs({first.sections()[part], second.sections()[part]})),
                 pairs);
  EXPECT_EQ(pairs.size(), 3u);
  const auto rows = [](const std::string& bytes) {
    std::vector<uint32_t> out;
    append_rows(bytes, out);
    return out;
  };
  const auto joined = join_pairs(pairs, 2), others = others_by_item(pairs, 2);
  EXPECT_THAT(rows(joined[0]), ElementsAre(1, 2));
  EXPECT_THAT(rows(joined[1]), ElementsAre(1));
  EXPECT_EQ(joined, others);
}

TEST(Dedup, SectionsAreReadAlone) {
  const TemporaryFolder folder;
  const std::string path = folder.path + "/x";
  ASSERT_TRUE(write_sections(path, {"one", "", "three"}).ok());
  EXPECT_EQ(*read_section(path, 3, 0), "one");
  EXPECT_EQ(*read_section(path, 3, 1), "");
  EXPECT_EQ(*read_section(path, 3, 2), "three");
  const std::string whole = *file_store().read(path);
  ASSERT_TRUE(file_store().write(path, whole.substr(0, whole.size() - 1)).ok());
  EXPECT_THAT(read_section(path, 3, 2).error().text(), ::testing::HasSubstr("H0105"));
}

}  // namespace
}  // namespace hone
