#include "learn/data/shards/row_shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/store/temporary_folder.h"
#include "learn/data/rows/files.h"

namespace hone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class RowShards : public ::testing::Test {
 protected:
  RowShards() {
    options_.folder = folder_.path + "/shards";
    options_.settings = {{"task", "classification"}};
    options_.max_shard_tokens = 16;
  }
  // Row i: i % 5 tokens and one of number i; a type for every other one.
  static LabelledRows labelled(int64_t rows, bool types, bool values) {
    LabelledRows out;
    for (int64_t i = 0; i < rows; ++i) {
      const std::vector<int32_t> ids(static_cast<size_t>(i % 5 + 1), static_cast<int32_t>(i));
      out.rows.add(ids);
      for (size_t k = 0; types && k < ids.size(); ++k)
        out.labels.types.push_back(static_cast<uint8_t>(k % 2));
      if (values)
        out.labels.values.push_back(static_cast<float>(i) / 7);
      else
        out.labels.classes.push_back(static_cast<int32_t>(i % 3));
    }
    return out;
  }
  ShardManifest write(RowSplit split) {
    const auto made = prepare_rows({}, options_, [&]() -> Result<std::vector<RowSplit>> {
      ++reads_;
      return std::vector<RowSplit>{split};
    });
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().text());
    return made->manifest;
  }

  TemporaryFolder folder_;
  PrepareOptions options_;
  int reads_ = 0;
};

TEST_F(RowShards, HoldClassesAndTypesOfTokens) {
  const LabelMap map = named_labels({"b", "a", "c"});
  for (const bool types : {false, true}) {
    options_.folder = fmt::format("{}/{}", folder_.path, types);
    LabelledRows rows = labelled(20, types, false);
    const LabelledRows same = labelled(20, types, false);
    const ShardManifest manifest =
        write(labelled_split("train", std::move(rows), {.rows_read = 21, .rows_cut = 2}, &map));
    EXPECT_GT(manifest.splits[0].shards.size(), 3u);
    auto shards = open_labelled_shards(options_.folder, manifest, "train");
    ASSERT_TRUE(shards.ok()) << shards.error().text();
    EXPECT_THAT(shards->names, ElementsAre("b", "a", "c"));
    EXPECT_FALSE(shards->regression);
    EXPECT_EQ(shards->text.counts.rows_read, 21);
    EXPECT_EQ(shards->text.counts.rows_cut, 2);
    ASSERT_TRUE(number_labels(shards->text, map, "train").ok());
    EXPECT_EQ(shards->text.data.hash(), same.hash());
    // A checkpoint with the same names in another order.
    shards = open_labelled_shards(options_.folder, manifest, "train");
    const LabelMap other = remap_labels(map, {"a", "b", "c"}, "m").value();
    ASSERT_TRUE(number_labels(shards->text, other, "train").ok());
    EXPECT_THAT(std::span(shards->text.data.labels.classes).first(3), ElementsAre(1, 0, 2));
  }
}

TEST_F(RowShards, HoldValuesToTheBit) {
  const LabelMap map = named_labels({});
  const ShardManifest manifest =
      write(labelled_split("train", labelled(20, false, true), {}, &map));
  auto shards = open_labelled_shards(options_.folder, manifest, "train");
  ASSERT_TRUE(shards.ok()) << shards.error().text();
  EXPECT_TRUE(shards->regression);
  ASSERT_TRUE(number_labels(shards->text, map, "train").ok());
  EXPECT_EQ(shards->text.data.hash(), labelled(20, false, true).hash());
}

TEST_F(RowShards, HoldPairs) {
  PairRows rows;
  for (int32_t i = 0; i < 20; ++i) {
    rows.sources.add(std::vector<int32_t>(static_cast<size_t>(i % 3 + 1), i));
    rows.targets.add(std::vector<int32_t>(static_cast<size_t>(i % 4), i + 100));
  }
  rows.counts.sources_cut = 3;
  rows.first_source = "the \"first\" one";
  rows.has_targets = false;
  const uint64_t sources = rows.sources.hash(), targets = rows.targets.hash();
  const ShardManifest manifest = write(pair_split("test", std::move(rows)));
  for (const bool mapped : {false, true}) {
    const auto read = open_pair_shards(options_.folder, manifest, "test", mapped);
    ASSERT_TRUE(read.ok()) << read.error().text();
    EXPECT_EQ(read->sources.is_mapped(), mapped);
    EXPECT_EQ(read->sources.hash(), sources);
    EXPECT_EQ(read->targets.hash(), targets);
    EXPECT_EQ(read->counts.sources_cut, 3);
    EXPECT_EQ(read->first_source, "the \"first\" one");
    EXPECT_FALSE(read->has_targets);
  }
}

// The folder is also a data set of the datasets library.
TEST_F(RowShards, AreReadByArrow) {
  const LabelMap map = named_labels({"no", "yes", "both"});
  write(labelled_split("train", labelled(4, true, false), {}, &map));
  auto rows = open_rows({options_.folder + "/train/data-00000.arrow"});
  if (!rows.ok() && rows.error().text().starts_with("H2112")) GTEST_SKIP() << rows.error().text();
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  EXPECT_THAT((*rows)->columns(), ElementsAre("input_ids", "token_type_ids", "label"));
  Row row;
  for (int64_t i = 0; i < 3; ++i) ASSERT_TRUE((*rows)->next(row).value());
  EXPECT_THAT(std::get<std::vector<int64_t>>(row.cells[0]), ElementsAre(2, 2, 2));
  EXPECT_THAT(std::get<std::vector<int64_t>>(row.cells[1]), ElementsAre(0, 1, 0));
  EXPECT_EQ(std::get<int64_t>(row.cells[2]), 2);
  std::ifstream info(options_.folder + "/train/dataset_info.json");
  const std::string text{std::istreambuf_iterator<char>(info), {}};
  EXPECT_EQ(Json::parse(text)["features"]["label"]["names"], Json({"no", "yes", "both"}));
}

TEST_F(RowShards, AreReadOnceAndNotOfOtherSettings) {
  const LabelMap map = named_labels({"no", "yes", "both"});
  const RowSplit split = labelled_split("train", labelled(4, false, false), {}, &map);
  write(split);
  write(split);
  EXPECT_EQ(reads_, 1);
  options_.settings["task"] = "translation";
  const auto other = prepare_rows({}, options_, [] { return std::vector<RowSplit>(); });
  EXPECT_THAT(other.error().text(), HasSubstr("were made with `task` classification"));
  ASSERT_TRUE(remove_shards(options_.folder).ok());
  EXPECT_TRUE(fs::is_empty(options_.folder));
}

TEST_F(RowShards, DamageIsOneError) {
  const LabelMap map = named_labels({"no", "yes", "both"});
  const ShardManifest made = write(labelled_split("train", labelled(9, true, false), {}, &map));
  const auto error = [&](auto change) {
    ShardManifest m = made;
    change(m.splits[0]);
    m = parse_shard_manifest(m.to_json(), "m").value();
    const auto read = open_labelled_shards(options_.folder, m, "train");
    return read.ok() ? "" : read.error().text();
  };
  EXPECT_EQ(error([](ShardSplit&) {}), "");
  const auto beside = [](ShardSplit& s, size_t i) -> ShardColumn& { return s.shards[0].beside[i]; };
  EXPECT_THAT(error([&](ShardSplit& s) { beside(s, 1).count += 1; }), HasSubstr("H2132"));
  EXPECT_THAT(error([&](ShardSplit& s) { beside(s, 1).values_at += 1 << 20; }), HasSubstr("H2132"));
  EXPECT_THAT(error([&](ShardSplit& s) { beside(s, 1).values_at += 4; }), HasSubstr("H2132"));
  EXPECT_THAT(error([&](ShardSplit& s) { beside(s, 0).offsets_at = -4; }), HasSubstr("H2132"));
  EXPECT_THAT(error([&](ShardSplit& s) { beside(s, 1).name = "other"; }),
              HasSubstr("has no labels"));
  EXPECT_THAT(error([&](ShardSplit& s) { s.shards[0].beside.erase(s.shards[0].beside.begin()); }),
              HasSubstr("has token_type_ids in some shards alone"));
  // Classes that the manifest does not name.
  EXPECT_THAT(error([&](ShardSplit& s) {
                s.about["names"] = {"no", "yes"};
              }),
              HasSubstr("has a label 2"));
}

}  // namespace
}  // namespace hone
