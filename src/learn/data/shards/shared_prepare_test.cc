#include "learn/data/shards/shared_prepare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

#include "base/store/store.h"
#include "base/store/temporary_folder.h"
#include "base/store/work_items.h"
#include "learn/data/formats/megatron_index.h"
#include "learn/data/rows/files.h"
#include "learn/data/shards/errors.h"
#include "learn/data/shards/load_text.h"
#include "learn/data/shards/megatron_files.h"
#include "learn/data/shards/work_estimate.h"
#include "learn/data/shards/work_plan.h"

namespace hone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class SharedPrepare : public ::testing::Test {
 protected:
  SharedPrepare() {
    for (int f = 0; f < 4; ++f) {
      std::ofstream out(path(fmt::format("{}.jsonl", f)));
      if (f == 0) out << "\xef\xbb\xbf";  // a byte order mark
      const int rows = f == 2 ? 4000 : 30;
      for (int i = 0; i < rows; ++i)
        out << "{\"text\": \"" << f << " " << i << std::string(static_cast<size_t>(i % 7), 'x')
            << "\"}" << (i % 5 == 0 ? "  \n\n" : "\n");
      part_.files.push_back(path(fmt::format("{}.jsonl", f)));
    }
    part_.split = "train";
    part_.options.block_size = 16;
    part_.options.grouping = Grouping::kRows;
    part_.options.eos = 0;
    options_.folder = path("shards");
    options_.settings = {{"block_size", 16}, {"work_item_size", 20000}};
    options_.max_shard_tokens = 4000;
    work_.item_bytes = 20000;
  }
  std::string path(const std::string& name) const { return temporary_.path + "/" + name; }
  Result<Prepared> prepare() { return prepare_shared({part_}, options_, work_, bytes_as_ids); }
  static Status bytes_as_ids(std::span<const std::string_view> texts,
                             std::vector<std::vector<int32_t>>& ids) {
    for (const std::string_view text : texts) ids.emplace_back(text.begin(), text.end());
    return Ok{};
  }
  static std::map<std::string, std::string> files_of(const std::string& folder) {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      all[fs::relative(entry.path(), folder).string()] = {std::istreambuf_iterator<char>(in), {}};
    }
    return all;
  }
  std::vector<std::vector<int32_t>> rows_of(const TokenRows& rows) const {
    std::vector<std::vector<int32_t>> all;
    for (int64_t i = 0; i < rows.size(); ++i)
      all.emplace_back(rows.row(i).begin(), rows.row(i).end());
    return all;
  }

  TemporaryFolder temporary_;
  TextPart part_;
  PrepareOptions options_;
  SharedWork work_;
};

TEST_F(SharedPrepare, ItemsAreFilesAndPiecesOfLongOnes) {
  const auto items = items_of({part_}, 20000);
  ASSERT_TRUE(items.ok());
  const int64_t bytes = *file_store().bytes(part_.files[2]);
  ASSERT_EQ(items->size(), static_cast<size_t>(2 + (bytes + 19999) / 20000));
  EXPECT_EQ((*items)[0], (WorkItem{0, 0, 2}));
  EXPECT_EQ((*items)[1], (WorkItem{0, 2, 3, 0, 20000}));
  EXPECT_EQ((*items)[2], (WorkItem{0, 2, 3, 20000, 40000}));
  EXPECT_EQ(items->back(), (WorkItem{0, 3, 4}));
  // Rows apart do not depend on the bounds: the pieces hold each row once, for any size.
  const TextData whole = *read_part(part_, bytes_as_ids);
  for (const int64_t size : {97, 1000, 20001}) {
    std::vector<std::vector<int32_t>> pieces;
    const std::vector<WorkItem> cut = *items_of({part_}, size);
    for (const WorkItem& item : cut) {
      auto rows = open_item(part_, item, {"text"}, 1);
      ASSERT_TRUE(rows.ok()) << rows.error().text();
      TokenRows some;
      TextReader reader(std::move(*rows), part_.options, bytes_as_ids);
      for (auto more = reader.read(some); *more; more = reader.read(some)) continue;
      for (auto& row : rows_of(some)) pieces.push_back(std::move(row));
    }
    EXPECT_EQ(pieces, rows_of(whole.rows)) << size;
  }
}

TEST_F(SharedPrepare, FilesWhoseRowsAreNotLinesAreNotCut) {
  const auto cut = [&](const std::string& name, const std::string& text, RowOptions options = {}) {
    EXPECT_TRUE(file_store().write(path(name), text).ok());
    return *can_cut(path(name), options);
  };
  EXPECT_TRUE(cut("a.txt", "one\ntwo\n"));
  EXPECT_TRUE(cut("a.jsonl", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n"));
  EXPECT_FALSE(cut("b.jsonl", "{\n\"text\": \"one\"}\n{\n\"text\": \"two\"}\n"));
  EXPECT_FALSE(cut("c.jsonl", "[{\"text\": \"one\"},\n{\"text\": \"two\"}]\n"));
  EXPECT_FALSE(cut("a.csv", "text\n\"one\ntwo\"\n"));
  EXPECT_FALSE(cut("b.txt", "one\ntwo\n", {.sample_by = SampleBy::kDocument}));
  EXPECT_FALSE(cut("c.txt", "one\ntwo\n", {.encoding = Charset::kLatin1}));
}

TEST_F(SharedPrepare, AnyNumberOfWorkersWritesTheSameBytes) {
  ASSERT_TRUE(prepare().ok());
  const auto whole = files_of(options_.folder);
  EXPECT_TRUE(whole.contains("train/data-000001-00000.arrow"));
  EXPECT_FALSE(whole.contains("hone_progress.json"));
  EXPECT_TRUE(prepare()->was_there);
  TextFiles files;
  files.train_files = {options_.folder};
  files.options = part_.options;
  files.shard_settings = {{"block_size", 16}};
  const TextSplits mapped = std::move(load_text(files, bytes_as_ids).value());
  EXPECT_EQ(rows_of(mapped.train.rows), rows_of(read_part(part_, bytes_as_ids)->rows));
  for (const int workers : {2, 5}) {
    options_.folder = path(fmt::format("by{}", workers));
    std::vector<std::thread> threads;
    for (int i = 0; i < workers; ++i)
      threads.emplace_back([&] {
        const auto made = prepare();
        EXPECT_TRUE(made.ok()) << made.error().text();
      });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(files_of(options_.folder), whole);
  }
}

TEST_F(SharedPrepare, AStoppedWorkerLeavesItsItemToOthers) {
  ASSERT_TRUE(prepare().ok());
  const auto whole = files_of(options_.folder);
  options_.folder = path("parts");
  for (int stops = 1;; ++stops) {
    ASSERT_LT(stops, 200);
    SharedWork stopping = work_;
    int asked = 0;
    stopping.stops = [&] { return ++asked > 4; };
    const auto made = prepare_shared({part_}, options_, stopping, bytes_as_ids);
    ASSERT_TRUE(made.ok()) << made.error().text();
    if (!made->stopped) break;
    EXPECT_TRUE(fs::exists(options_.folder + "/hone_progress.json"));
    EXPECT_THAT(read_shard_manifest(options_.folder).error().text(), HasSubstr("are not finished"));
  }
  EXPECT_EQ(files_of(options_.folder), whole);
}

TEST_F(SharedPrepare, AWorkerMayLeaveTheEndToAnother) {
  SharedWork worker = work_;
  worker.finishes = false;
  EXPECT_TRUE(prepare_shared({part_}, options_, worker, bytes_as_ids)->stopped);
  EXPECT_FALSE(fs::exists(options_.folder + "/hone_shards.json"));
  EXPECT_EQ(shared_done(options_.folder), plan_shared({part_}, options_, work_)->steps);
  const auto made = prepare();
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_FALSE(made->was_there);
  EXPECT_FALSE(fs::exists(options_.folder + "/work"));
}

TEST_F(SharedPrepare, OtherSettingsFilesAndFoldersAreRefused) {
  SharedWork stopped = work_;
  stopped.stops = [] { return true; };
  ASSERT_TRUE(prepare_shared({part_}, options_, stopped, bytes_as_ids)->stopped);
  options_.settings["block_size"] = 32;
  EXPECT_THAT(prepare().error().text(), HasSubstr("were made with `block_size` 16, which is 32"));
  options_.settings["block_size"] = 16;
  std::ofstream(part_.files[1], std::ios::app) << "\n";
  EXPECT_THAT(prepare().error().text(), HasSubstr("were made of other files"));
  std::vector<TextPart> parts = {part_};
  EXPECT_THAT(prepare_shards(parts, options_, bytes_as_ids).error().text(),
              HasSubstr("several processes make the shards"));
  ASSERT_TRUE(remove_shards(options_.folder).ok());
  EXPECT_TRUE(prepare().ok());
  options_.folder = temporary_.path;
  EXPECT_THAT(prepare().error().text(), HasSubstr("holds other files"));
}

TEST_F(SharedPrepare, TheSizeIsKnownBeforeTheWork) {
  // A long first file, whose beginning stands for all.
  std::swap(part_.files[0], part_.files[2]);
  const auto estimate =
      estimate_work({part_}, {.kind = DedupOptions::Kind::kExact}, 2, bytes_as_ids);
  ASSERT_TRUE(estimate.ok()) << estimate.error().text();
  EXPECT_EQ(estimate->files, 4);
  const auto read = static_cast<double>(read_part(part_, bytes_as_ids)->counts.tokens_read);
  EXPECT_NEAR(estimate->tokens / read, 1, 0.02);
  EXPECT_GT(estimate->seconds, 0);
}

TEST_F(SharedPrepare, AnErrorNamesTheLineInTheWholeFile) {
  std::ofstream(part_.files[2], std::ios::app) << "{\"text\": 5}\n";
  const int64_t lines = 4000 + 800 + 1;
  EXPECT_THAT(prepare().error().text(), HasSubstr(fmt::format("2.jsonl:{}", lines)));
}

// The rows of a preparation with these options, by `workers` threads.
std::vector<std::vector<int32_t>> sorted(std::vector<std::vector<int32_t>> rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST_F(SharedPrepare, AShuffleHasEveryTextOnce) {
  const auto whole = rows_of(read_part(part_, bytes_as_ids)->rows);
  std::map<std::string, std::string> first;
  for (const int workers : {1, 4}) {
    work_.shuffle_seed = 7;
    options_.folder = path(fmt::format("shuffled{}", workers));
    std::vector<std::thread> threads;
    for (int i = 0; i < workers; ++i)
      threads.emplace_back([&] {
        const auto made = prepare();
        EXPECT_TRUE(made.ok()) << made.error().text();
      });
    for (std::thread& t : threads) t.join();
    if (workers == 1) first = files_of(options_.folder);
    EXPECT_EQ(files_of(options_.folder), first);
  }
  const auto rows_in = [&](const std::string& folder) {
    const ShardManifest made = std::move(read_shard_manifest(folder).value());
    return rows_of(std::move(open_shards(folder, made, "train").value()).rows);
  };
  const auto shuffled = rows_in(options_.folder);
  EXPECT_EQ(sorted(shuffled), sorted(whole));
  // Places of neighbours are independent: the mean distance of two is a third of all rows.
  std::map<std::vector<int32_t>, int64_t> place;
  for (size_t i = 0; i < shuffled.size(); ++i) place[shuffled[i]] = static_cast<int64_t>(i);
  double distance = 0;
  for (size_t i = 1; i < whole.size(); ++i)
    distance += static_cast<double>(std::abs(place[whole[i]] - place[whole[i - 1]]));
  const auto n = static_cast<double>(whole.size());
  EXPECT_NEAR(distance / (n - 1) / n, 1.0 / 3, 0.02);
  work_.shuffle_seed = 8;
  options_.folder = path("other");
  ASSERT_TRUE(prepare().ok());
  EXPECT_NE(rows_in(options_.folder), shuffled);
}

TEST_F(SharedPrepare, DuplicatesAreLeftOutOverAllFiles) {
  std::ofstream(part_.files[3], std::ios::app)
      << "{\"text\": \"0 1X \"}\n{\"text\": \"2  3999xx\"}\n{\"text\": \"new\"}\n";
  auto wanted = rows_of(read_part(part_, bytes_as_ids)->rows);
  wanted.erase(wanted.end() - 3, wanted.end() - 1);
  for (const auto kind : {DedupOptions::Kind::kExact, DedupOptions::Kind::kMinHash}) {
    work_.dedup = {.kind = kind, .num_perm = 64, .threshold = 0.9, .ngram = 2, .min_length = 1};
    options_.folder = path(fmt::format("dedup{}", static_cast<int>(kind)));
    const auto made = prepare();
    ASSERT_TRUE(made.ok()) << made.error().text();
    EXPECT_THAT(made->notes[0], HasSubstr(kind == DedupOptions::Kind::kExact
                                              ? "train: 2 of 4,093 rows left out as duplicates"
                                              : "left out as duplicates"));
    const auto rows =
        rows_of(std::move(open_shards(options_.folder, made->manifest, "train").value()).rows);
    if (kind == DedupOptions::Kind::kExact) {
      EXPECT_EQ(rows, wanted);
    }
  }
}

TEST_F(SharedPrepare, MegatronFilesHoldTheRows) {
  const TextData whole = *read_part(part_, bytes_as_ids);
  const auto make = [&](const PrepareOptions& o) {
    return prepare_shared({part_}, o, work_, bytes_as_ids);
  };
  const OrderedJson sources = *source_sizes({part_});
  for (const int32_t large : {0, 70000}) {
    part_.options.eos = large;
    options_.settings["eos"] = large;
    options_.folder = path(fmt::format("megatron{}", large));
    const auto made = prepare_megatron(options_, sources, make);
    ASSERT_TRUE(made.ok()) << made.error().text();
    ASSERT_EQ(made->files.size(), 1u);
    EXPECT_EQ(made->files[0].type, large > 0 ? "int32" : "uint16");
    EXPECT_THAT(names_in(options_.folder),
                ElementsAre("hone_megatron.json", "train.bin", "train.idx"));
    TextPart written = part_;
    written.files = {options_.folder + "/train.idx"};
    const TextData again = std::move(read_part(written, bytes_as_ids).value());
    EXPECT_EQ(rows_of(again.rows), rows_of(read_part(part_, bytes_as_ids)->rows));
    EXPECT_TRUE(prepare_megatron(options_, sources, make)->prepared.was_there);
  }
  options_.settings["block_size"] = 8;
  EXPECT_THAT(prepare_megatron(options_, sources, make).error().text(), HasSubstr("H2133"));
  ASSERT_TRUE(remove_megatron(options_.folder).ok());
  EXPECT_TRUE(names_in(options_.folder).empty());
  EXPECT_TRUE(file_store().write(options_.folder + "/mine", "x").ok());
  EXPECT_THAT(prepare_megatron(options_, sources, make).error().text(), HasSubstr("other files"));
}

}  // namespace
}  // namespace hone
