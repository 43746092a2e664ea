#include "operate/reporters/wandb_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/core/text.h"

namespace hone {
namespace {

std::string hex_of(std::string_view bytes) {
  std::string s;
  for (const char c : bytes) s += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return s;
}

// The records of a file after its first bytes; a sum that is wrong ends the list.
std::vector<std::string> wandb_records_of(const std::string& file) {
  std::vector<std::string> records;
  std::string record;
  for (size_t at = 7; at + 7 <= file.size();) {
    const size_t left = 32768 - at % 32768;
    if (left < 7) {
      for (size_t i = 0; i < left; ++i) EXPECT_EQ(file[at + i], '\0');
      at += left;
      continue;
    }
    uint16_t length = 0;
    std::memcpy(&length, file.data() + at + 4, 2);
    const char type = file[at + 6];
    EXPECT_LE(7u + length, left);
    EXPECT_EQ(type == 1 || type == 2, record.empty());
    record += file.substr(at + 7, length);
    at += 7u + length;
    if (type == 1 || type == 4) records.push_back(std::exchange(record, ""));
  }
  EXPECT_TRUE(record.empty());
  return records;
}

// Sums and bytes are those that zlib and the classes of wandb 0.31 give.
TEST(WandbFile, BytesAreThoseOfTheClient) {
  EXPECT_EQ(hex_of(WandbFraming::header()), "3a572642e1be00");
  WandbFraming framing;
  EXPECT_EQ(hex_of(framing.frame("123456789")), "c02eb521090001313233343536373839");
  EXPECT_EQ(hex_of(wandb_stats(1700000000.5, {{"cpu", "12.5"}})),
            "120c0880e2cfaa061080cab5ee011a0c0a0363707582010431322e35");
  EXPECT_EQ(hex_of(wandb_exit(1, 17.9)), "08011011");
  EXPECT_EQ(hex_of(wandb_metric("", "*", "train/global_step")),
            "12012a2211747261696e2f676c6f62616c5f73746570320408011801");
}

TEST(WandbFile, ARecordHasItsNumberAndItsRun) {
  const std::string path = testing::TempDir() + "/record.wandb";
  (void)file_store().remove(path);
  WandbFile file = std::move(WandbFile::create(path, "ab").value());
  file.add(WandbRecord::history, wandb_history(300, {{"train/loss", "2.5"}}));
  ASSERT_TRUE(file.close().ok());
  const std::vector<std::string> records = wandb_records_of(read_file(path).value());
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(hex_of(records[1]),
            "080212190a12120a747261696e2f6c6f7373820103322e35120308ac02c20c040a026162");
}

// LevelDB's log: pieces in blocks of 32 KiB, no head in the last six bytes of one.
TEST(WandbFile, RecordsCrossBlocks) {
  for (const size_t first : {32746u, 32747u, 32748u, 32752u, 32753u, 32754u, 32755u, 32760u}) {
    WandbFraming framing;
    const std::vector<std::string> wanted = {std::string(first, 'a'), "", std::string(100000, 'b'),
                                             "c"};
    std::string file = WandbFraming::header();
    for (const std::string& r : wanted) file += framing.frame(r);
    EXPECT_EQ(wandb_records_of(file).size(), wanted.size()) << first;
    EXPECT_EQ(wandb_records_of(file), wanted) << first;
  }
}

}  // namespace
}  // namespace hone
