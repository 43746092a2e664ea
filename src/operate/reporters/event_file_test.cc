#include "operate/reporters/event_file.h"

#include <gmock/gmock.h>

#include <cstring>

#include "base/core/text.h"
#include "base/store/crc32c.h"

namespace hone {
namespace {

using testing::HasSubstr;

TEST(EventFile, RecordsAreFramedAndReadBack) {
  const std::string folder = testing::TempDir() + "/events";
  EventFile file = std::move(EventFile::create(folder).value());
  file.add_scalar("train/loss", 2.5, 300);
  ASSERT_TRUE(file.flush().ok());
  file.add_text("args", "{}", 0);
  ASSERT_TRUE(file.flush().ok());
  const std::string all = read_file(file.path()).value();
  std::vector<std::string> records;
  for (size_t at = 0; at < all.size();) {
    uint64_t length = 0;
    std::memcpy(&length, all.data() + at, 8);
    uint32_t sum = 0;
    std::memcpy(&sum, all.data() + at + 8, 4);
    const uint32_t c = crc32c(all.substr(at, 8));
    EXPECT_EQ(sum, (c >> 15 | c << 17) + 0xa282ead8u);
    records.push_back(all.substr(at + 12, length));
    at += 16 + length;
  }
  ASSERT_EQ(records.size(), 3u);
  EXPECT_THAT(records[0], HasSubstr("brain.Event:2"));
  // step 300 as a varint; Summary{Value{tag, simple_value 2.5}}
  const std::string_view event("\x10\xac\x02\x2a\x13\x0a\x11\x0a\x0atrain/loss\x15\x00\x00\x20\x40",
                               24);
  EXPECT_EQ(records[1].substr(9), event);
  EXPECT_THAT(records[2], HasSubstr("args/text_summary"));
}

}  // namespace
}  // namespace hone
