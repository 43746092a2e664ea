#include "operate/reporters/event_file.h"

#include <gmock/gmock.h>

#include <bit>
#include <cstring>

#include "base/core/text.h"
#include "base/core/threads.h"
#include "base/store/crc32c.h"
#include "operate/reporters/hparams_records.h"

namespace hone {
namespace {

using testing::HasSubstr;

// The records of the file, without their frames, which are checked.
std::vector<std::string> records_of(const std::string& path) {
  const std::string all = read_file(path).value();
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
  return records;
}

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

TEST(EventFile, RecordsAreFramedAndReadBack) {
  EventFile file = std::move(EventFile::create(testing::TempDir() + "/events").value());
  file.add_scalar("train/loss", 2.5, 300);
  ASSERT_TRUE(file.flush().ok());
  file.add_text("args", "{}", 0);
  file.add_graph("a graph");
  ASSERT_TRUE(file.close().ok());
  const std::vector<std::string> records = records_of(file.path());
  ASSERT_EQ(records.size(), 4u);
  EXPECT_THAT(records[0], HasSubstr("brain.Event:2"));
  // step 300 as a varint; Summary{Value{tag, simple_value 2.5}}
  const std::string_view event("\x10\xac\x02\x2a\x13\x0a\x11\x0a\x0atrain/loss\x15\x00\x00\x20\x40",
                               24);
  EXPECT_EQ(records[1].substr(9), event);
  EXPECT_THAT(records[2], HasSubstr("args/text_summary"));
  EXPECT_EQ(records[3].substr(9),
            "\x22\x07"
            "a graph");
}

// Image: height, width, colorspace, encoded_image_string, in the member 4 of a value.
TEST(EventFile, ImagesAreRecordsOfTheirPng) {
  EventFile file = std::move(EventFile::create(testing::TempDir() + "/images").value());
  file.add_image("wrong/1", "png", 224, 160, 7);
  ASSERT_TRUE(file.close().ok());
  EXPECT_EQ(records_of(file.path()).at(1).substr(9),
            from_hex("10072a1a0a180a0777726f6e672f31220d08a00110e00118032203706e67"));
}

// Reference values from TensorBoard's own messages, after the time of the event: a file that
// TensorBoard 2.21's protobuf classes wrote.
TEST(EventFile, RecordsOfHparamsAreThoseOfTensorBoard) {
  EventFile file = std::move(EventFile::create(testing::TempDir() + "/hparams").value());
  const auto begun = std::bit_cast<double>(uint64_t{0x41dac038a1c68998});
  const auto ended = std::bit_cast<double>(uint64_t{0x41dac038a1c68a10});
  file.add_hparams("experiment", hparams_experiment({{"lr", 1e-4}}, {"loss"}));
  file.add_hparams("session_start_info",
                   hparams_start({{"opt", "adamw"}, {"lr", 1e-4}}, "", "", begun));
  file.add_hparams("session_end_info", hparams_end(true, ended));
  ASSERT_TRUE(file.close().ok());
  const std::vector<std::string> records = records_of(file.path());
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[1].substr(9),
            from_hex("2a430a410a145f68706172616d735f2f6578706572696d656e7442060801120212004a21"
                     "0a1f0a0768706172616d731214121222060a026c7220032a080a0612046c6f7373"));
  EXPECT_EQ(records[2].substr(9),
            from_hex("2a630a610a1c5f68706172616d735f2f73657373696f6e5f73746172745f696e666f4206"
                     "0801120212004a390a370a0768706172616d73122c1a2a0a0e0a036f707412071a056164"
                     "616d770a0f0a026c721209112d431cebe2361a3f299889c6a138c0da41"));
  EXPECT_EQ(records[3].substr(9),
            from_hex("2a420a400a1a5f68706172616d735f2f73657373696f6e5f656e645f696e666f42060801"
                     "120212004a1a0a180a0768706172616d73120d220b080111108ac6a138c0da41"));
}

TEST(EventFile, HparamsAreTheScalarsOfTheSettings) {
  const OrderedJson settings{{"a", 1}, {"b", true}, {"c", "x"}, {"d", nullptr}, {"e", {1, 2}}};
  const std::string start = hparams_start(settings, "out", "group", 0);
  for (const char* said : {"\x0a\x01\x61\x12\x09\x11", "\x0a\x01\x62\x12\x02\x20\x01",
                           "\x0a\x01\x63\x12\x03\x1a\x01x", "\x12\x03out", "\x22\x05group"})
    EXPECT_THAT(start, HasSubstr(said));
  for (const char* left_out : {"\x0a\x01\x64", "\x0a\x01\x65"})
    EXPECT_THAT(start, testing::Not(HasSubstr(left_out)));
  const std::string failed = hparams_end(false, 0);
  EXPECT_THAT(failed, HasSubstr("\x08\x02"));
}

TEST(EventFile, AHistogramHasItsSumsAndRanges) {
  EventFile file = std::move(EventFile::create(testing::TempDir() + "/histogram").value());
  ThreadPool pool(1);
  ValueHistogram values;
  const std::vector<float> v{0, 1};
  values.add(DType::f32, std::as_bytes(std::span(v)), pool);
  file.add_histogram("w", values, 2);
  ASSERT_TRUE(file.close().ok());
  const std::string record = records_of(file.path()).at(1);
  // tag "w", HistogramProto with min 0, max 1, num 2, sum 1, sum_squares 1
  EXPECT_THAT(record, HasSubstr(from_hex("0a0177")));
  EXPECT_THAT(record, HasSubstr(from_hex("090000000000000000"
                                         "11000000000000f03f"
                                         "190000000000000040"
                                         "21000000000000f03f"
                                         "29000000000000f03f"
                                         "32")));
}

}  // namespace
}  // namespace hone
