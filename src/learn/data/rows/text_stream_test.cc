#include "learn/data/rows/text_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <set>

#include "base/store/temporary_folder.h"
#include "learn/data/formats/errors.h"
#include "learn/data/rows/files.h"

namespace hone {
namespace {

using ::testing::HasSubstr;

Status streamed_bytes(std::span<const std::string_view> texts,
                      std::vector<std::vector<int32_t>>& ids) {
  for (const std::string_view text : texts) ids.emplace_back(text.begin(), text.end());
  return Ok{};
}

class Stream : public ::testing::Test {
 protected:
  Stream() {
    std::ofstream out(file_);
    for (int i = 0; i < 4321; ++i) out << i << std::string(static_cast<size_t>(i % 7), 'x') << "\n";
    out.close();
    part_.split = "train";
    part_.files = {file_};
    part_.options.block_size = 16;
    part_.options.first_row = 21;
    all_ = std::move(
        read_text_rows(std::move(open_rows({file_}).value()), part_.options, streamed_bytes)->rows);
  }
  std::unique_ptr<TextStream> open(const StreamOptions& o) {
    return std::move(TextStream::open(part_, streamed_bytes, o).value());
  }
  TemporaryFolder folder_;
  const std::string file_ = folder_.path + "/a.txt";
  TextPart part_;
  TokenRows all_;
};

TEST_F(Stream, GivesTheRowsOfAnEpochInOrderOrMixed) {
  for (const bool shuffle : {false, true}) {
    auto stream = open({.shuffle = shuffle, .window_rows = shuffle ? 300 : 1, .seed = 5});
    TokenRows rows;
    std::vector<int64_t> numbers;
    std::vector<std::vector<int64_t>> orders;
    for (int epoch = 0; epoch < 2; ++epoch) {
      std::vector<int64_t> order;
      for (;;) {
        ASSERT_TRUE(stream->take(7, rows, numbers).ok());
        if (numbers.empty()) break;
        ASSERT_EQ(rows.size(), static_cast<int64_t>(numbers.size()));
        for (int64_t i = 0; i < rows.size(); ++i)
          ASSERT_TRUE(std::ranges::equal(rows.row(i), all_.row(numbers[static_cast<size_t>(i)])));
        order.insert(order.end(), numbers.begin(), numbers.end());
      }
      EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(),
                static_cast<size_t>(all_.size()));
      EXPECT_EQ(order.size(), static_cast<size_t>(all_.size()));
      EXPECT_EQ(std::is_sorted(order.begin(), order.end()), !shuffle);
      orders.push_back(std::move(order));
      ASSERT_TRUE(stream->next_epoch().ok());
    }
    EXPECT_EQ(orders[0] == orders[1], !shuffle);
  }
}

TEST_F(Stream, GoesOnFromEveryPlace) {
  const StreamOptions o{.shuffle = true, .window_rows = 200, .seed = 9, .max_rows = 900};
  auto stream = open(o);
  TokenRows rows;
  std::vector<int64_t> numbers, order, counts;
  std::vector<std::string> places;
  do {
    places.push_back(dump_json(stream->place().to_json()));
    counts.push_back(static_cast<int64_t>(order.size()));
    ASSERT_TRUE(stream->take(33, rows, numbers).ok());
    order.insert(order.end(), numbers.begin(), numbers.end());
  } while (!numbers.empty());
  EXPECT_EQ(order.size(), 900u);
  for (size_t k = 0; k < places.size(); ++k) {
    auto again = open(o);
    ASSERT_TRUE(again->seek(*stream_position_from_json(*parse_json(places[k], "p"), "p")).ok());
    ASSERT_TRUE(again->take(1000, rows, numbers).ok());
    EXPECT_EQ(numbers, std::vector<int64_t>(order.begin() + counts[k], order.end()));
  }
  EXPECT_THAT(stream_position_from_json(Json::object(), "p").error().text(), HasSubstr("H2102"));
}

TEST_F(Stream, AnErrorComesWithItsRows) {
  std::atomic<int> calls{0}, broken{2};  // a batch is 1,000 rows of text
  const Tokenize failing = [&](auto texts, auto& ids) -> Status {
    if (calls++ == broken) return Error(err::kDataRead, "the disk is gone");
    return streamed_bytes(texts, ids);
  };
  part_.options.grouping = Grouping::kRows;
  const StreamOptions o{.shuffle = true, .window_rows = 1000, .seed = 3, .read_at_once = true};
  auto stream = std::move(TextStream::open(part_, failing, o).value());
  TokenRows rows;
  std::vector<int64_t> numbers;
  int64_t given = 0;
  Status status = Ok{};
  while ((status = stream->take(100, rows, numbers)).ok()) given += rows.size();
  EXPECT_THAT(status.error().text(), HasSubstr("the disk is gone"));
  EXPECT_EQ(given, 2000) << "all of the two windows before it";
  broken = -1;
  ASSERT_TRUE(stream->take(100, rows, numbers).ok()) << "read again";
  EXPECT_GE(numbers[0], 2000);
  EXPECT_EQ(rows.size(), 100);
  ASSERT_TRUE(stream->rewind().ok()) << "while the next window is read";
  ASSERT_TRUE(stream->take(100, rows, numbers).ok());
  EXPECT_LT(numbers[0], 1000);
}

TEST_F(Stream, AnErrorTakesNoRows) {
  std::atomic<int> calls{0};
  const Tokenize failing_once = [&](auto texts, auto& ids) -> Status {
    if (calls++ == 1) return Error(err::kDataRead, "the disk is gone");
    return streamed_bytes(texts, ids);
  };
  part_.options.grouping = Grouping::kRows;
  const StreamOptions o{.shuffle = true, .window_rows = 1000, .seed = 3};
  auto stream = std::move(TextStream::open(part_, failing_once, o).value()), whole = open(o);
  TokenRows rows, wanted;
  std::vector<int64_t> numbers, wanted_numbers;
  for (int i = 0, errors = 0; i < 8; ++i) {
    if (const Status s = stream->take(300, rows, numbers); !s.ok()) {
      EXPECT_EQ(++errors, 1);
      EXPECT_EQ(i, 3) << "the call that begins in the first window and ends in the second";
      ASSERT_TRUE(stream->take(300, rows, numbers).ok());
    }
    ASSERT_TRUE(whole->take(300, wanted, wanted_numbers).ok());
    EXPECT_EQ(numbers, wanted_numbers) << i;
  }
}

TEST_F(Stream, ReadsTheNextWindowMeanwhile) {
  std::mutex mutex;
  std::condition_variable changed;
  int calls = 0;
  const Tokenize counting = [&](auto texts, auto& ids) {
    std::lock_guard lock(mutex);
    ++calls;
    changed.notify_all();
    return streamed_bytes(texts, ids);
  };
  auto stream = std::move(TextStream::open(part_, counting, {}).value());
  EXPECT_EQ(calls, 0);
  TokenRows rows;
  std::vector<int64_t> numbers;
  ASSERT_TRUE(stream->take(1, rows, numbers).ok());
  const std::string place = dump_json(stream->place().to_json());
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return calls == 2; }));
  EXPECT_EQ(dump_json(stream->place().to_json()), place);
}

}  // namespace
}  // namespace hone
