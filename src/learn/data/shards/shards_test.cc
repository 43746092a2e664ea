#include "learn/data/shards/shards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>

#include "base/store/temporary_folder.h"
#include "learn/data/batches/batch.h"
#include "learn/data/rows/files.h"
#include "learn/data/shards/load_text.h"

namespace hone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

Status bytes_as_tokens(std::span<const std::string_view> texts,
                       std::vector<std::vector<int32_t>>& ids) {
  for (const std::string_view text : texts) ids.emplace_back(text.begin(), text.end());
  return Ok{};
}

class Shards : public ::testing::Test {
 protected:
  Shards() {
    std::ofstream out(folder_ / "a.txt");
    for (int i = 0; i < 5000; ++i) out << i << std::string(static_cast<size_t>(i % 7), 'x') << "\n";
    files_.train_files = {path("a.txt")};
    files_.want_eval = true;
    files_.options.block_size = 16;
    files_.options.eos = 0;
    options_.folder = path("shards");
    options_.settings = {{"block_size", 16}, {"packing", false}};
    options_.max_shard_tokens = 4000;
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  Result<Prepared> prepare() {
    std::vector<std::string> notes;
    return prepare_shards(HONE_TRY(find_parts(files_, notes)), options_, bytes_as_tokens);
  }
  std::map<std::string, std::string> contents(const std::string& folder) const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      all[fs::relative(entry.path(), folder).string()] = {std::istreambuf_iterator<char>(in), {}};
    }
    return all;
  }
  TextSplits load(const std::string& file) {
    TextFiles files = files_;
    files.train_files = {file};
    files.shard_settings = options_.settings;
    auto splits = load_text(files, bytes_as_tokens);
    EXPECT_TRUE(splits.ok()) << (splits.ok() ? "" : splits.error().text());
    return std::move(*splits);
  }
  static void expect_equal(const TokenRows& a, const TokenRows& b) {
    ASSERT_EQ(a.size(), b.size());
    EXPECT_EQ(a.tokens(), b.tokens());
    EXPECT_EQ(a.hash(), b.hash());
    for (int64_t i = 0; i < a.size(); ++i) ASSERT_TRUE(std::ranges::equal(a.row(i), b.row(i)));
  }

  TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path;
  TextFiles files_;
  PrepareOptions options_;
};

TEST_F(Shards, HoldTheRowsOfTheText) {
  for (const Grouping grouping : {Grouping::kBlocks, Grouping::kRows}) {
    files_.options.grouping = grouping;
    options_.folder = path(grouping == Grouping::kRows ? "rows" : "blocks");
    Result<Prepared> made = prepare();
    ASSERT_TRUE(made.ok()) << made.error().text();
    ASSERT_EQ(made->manifest.splits.size(), 2u);
    EXPECT_GT(made->manifest.splits[0].shards.size(), 3u);
    EXPECT_FALSE(fs::exists(options_.folder + "/hone_progress.json"));
    TextSplits raw = load(path("a.txt")), mapped = load(options_.folder);
    EXPECT_TRUE(mapped.train.rows.is_mapped());
    expect_equal(raw.train.rows, mapped.train.rows);
    expect_equal(raw.eval.rows, mapped.eval.rows);
    EXPECT_EQ(describe(raw.train.counts, files_.options),
              describe(mapped.train.counts, files_.options));
    raw.train.rows.keep_first(300);
    mapped.train.rows.keep_first(300);
    expect_equal(raw.train.rows, mapped.train.rows);
    EXPECT_TRUE(prepare()->was_there);
  }
}

// The folder is also a data file like any other of the datasets library.
TEST_F(Shards, AreReadByArrow) {
  ASSERT_TRUE(prepare().ok());
  auto rows = open_rows({options_.folder + "/train/data-00001.arrow"});
  if (!rows.ok() && rows.error().text().starts_with("H2112")) GTEST_SKIP() << rows.error().text();
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  EXPECT_THAT((*rows)->columns(), ElementsAre("input_ids"));
  const TextSplits mapped = load(options_.folder);
  const auto manifest = read_shard_manifest(options_.folder);
  Row row;
  for (int64_t i = manifest->splits[0].shards[0].rows; *(*rows)->next(row); ++i) {
    const auto& ids = std::get<std::vector<int64_t>>(row.cells[0]);
    ASSERT_TRUE(std::ranges::equal(ids, mapped.train.rows.row(i)));
  }
}

TEST_F(Shards, AStoppedRunGoesOnWithTheSameBytes) {
  ASSERT_TRUE(prepare().ok());
  const auto whole = contents(options_.folder);
  options_.folder = path("parts");
  for (int runs = 0;; ++runs) {
    ASSERT_LT(runs, 100);
    options_.progress = [](const std::string&, int64_t) { return 1; };
    // A killed run may leave further files.
    if (runs == 2) {
      const auto files = std::distance(fs::directory_iterator(options_.folder + "/train"), {});
      std::ofstream(fmt::format("{}/train/data-{:05}.arrow", options_.folder, files)) << "half";
    }
    Result<Prepared> made = prepare();
    ASSERT_TRUE(made.ok()) << made.error().text();
    if (!made->stopped) {
      EXPECT_GT(runs, 3);
      break;
    }
    TextFiles files = files_;
    files.train_files = {options_.folder};
    EXPECT_THAT(load_text(files, bytes_as_tokens).error().text(),
                HasSubstr("H2132  the shards '" + options_.folder + "' are not finished"));
  }
  EXPECT_EQ(contents(options_.folder), whole);
}

TEST_F(Shards, OtherSettingsAndFilesAreNamed) {
  ASSERT_TRUE(prepare().ok());
  options_.settings["block_size"] = 32;
  EXPECT_EQ(prepare().error().text(),
            fmt::format("H2133  the shards '{}' were made with `block_size` 16, which is 32 now\n"
                        "  do   give `block_size` 16, or prepare them again in another folder",
                        options_.folder));
  options_.settings["block_size"] = 16;
  std::ofstream(path("a.txt"), std::ios::app) << "more\n";
  EXPECT_THAT(prepare().error().text(), HasSubstr("were made of other files"));
  ASSERT_TRUE(remove_shards(options_.folder).ok());
  EXPECT_TRUE(prepare().ok());
  options_.folder = folder_.string();
  EXPECT_THAT(prepare().error().text(), HasSubstr("H2132  the folder"));
  ASSERT_TRUE(remove_shards(options_.folder).ok());
  EXPECT_TRUE(fs::exists(path("a.txt")));
}

// A reader of rows asks afterwards whether they were those of the file.
TEST_F(Shards, AFileThatChangesUnderARunIsOneError) {
  ASSERT_TRUE(prepare().ok());
  TextData data = std::move(
      open_shards(options_.folder, *read_shard_manifest(options_.folder), "train").value());
  const std::string shard = options_.folder + "/train/data-00001.arrow";
  const auto lengths_of_rows = [&] {
    std::vector<int64_t> lengths;
    for (int64_t i = 0; i < data.rows.size(); ++i) lengths.push_back(data.rows.length(i));
    return lengths;
  };
  const auto error = [](const Status& status) { return status.ok() ? "" : status.error().text(); };
  const std::vector<int64_t> before = lengths_of_rows(), first = {0};
  std::vector<int64_t> all(before.size());
  std::iota(all.begin(), all.end(), 0);
  ASSERT_GT(all.size(), 500u);
  std::vector<int32_t> ids(static_cast<size_t>(data.rows.tokens())), positions(ids.size()),
      cu(all.size() + 1);
  const auto pack = [&] { return pack_rows(data.rows, {all, {}}, {ids, positions, cu, {}}); };
  EXPECT_EQ(error(pack()), "");
  EXPECT_EQ(error(data.rows.check_unchanged()), "");

  fs::resize_file(shard, 0);
  EXPECT_EQ(error(data.rows.check_unchanged(first)), "");  // another file, and nothing was read
  EXPECT_THAT(error(data.rows.check_unchanged(all)),
              HasSubstr(fmt::format("H0117  '{}' has 0 bytes now", shard)));
  EXPECT_NE(lengths_of_rows(), before);  // what is gone reads as rows without tokens
  EXPECT_THAT(error(data.rows.check_unchanged(first)), HasSubstr("H0117"));
  EXPECT_THAT(error(pack()), HasSubstr("H0117"));
}

TEST_F(Shards, DamageIsOneError) {
  ASSERT_TRUE(prepare().ok());
  const ShardManifest manifest = *read_shard_manifest(options_.folder);
  const std::string shard = options_.folder + "/train/data-00001.arrow";
  const auto error = [&](const ShardManifest& m) {
    auto data = open_shards(options_.folder, m, "train");
    return data.ok() ? "" : data.error().text();
  };
  EXPECT_EQ(error(manifest), "");
  EXPECT_THAT(open_shards(options_.folder, manifest, "test").error().text(),
              HasSubstr("have no split 'test'"));
  ShardManifest other = manifest;
  other.splits[0].shards[1].ids_at += 1 << 20;
  EXPECT_THAT(error(other), HasSubstr("H2132"));
  other = manifest;
  other.splits[0].shards[1].offsets_at += 64;
  EXPECT_THAT(error(other), HasSubstr("H2132"));
  const auto size = fs::file_size(shard);
  fs::resize_file(shard, size - 1);
  EXPECT_THAT(error(manifest), HasSubstr(fmt::format("it has {} bytes", size - 1)));
  fs::remove(shard);
  EXPECT_THAT(error(manifest), HasSubstr("No such file"));
  for (const char* text : {"{}", "[]", "{\"format\":\"hone token shards\",\"version\":2}",
                           "{\"format\":\"hone token shards\",\"version\":1,\"settings\":{},"
                           "\"sources\":[],\"splits\":[{}]}"})
    EXPECT_THAT(parse_shard_manifest(text, "m.json").error().text(), HasSubstr("H2132")) << text;
}

}  // namespace
}  // namespace hone
