#include "learn/checkpoint/torch/torch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "learn/checkpoint/open_weights.h"
#include "learn/checkpoint/torch/zip_entries.h"

namespace hone {
namespace {

using testing::HasSubstr;

const std::string kTorchGoldens = HONE_SOURCE_DIR "/tests/goldens/torch/";

std::string bytes_of(const std::string& name) {
  return file_store().read(kTorchGoldens + name).value();
}

std::string error_of(const std::string& name) {
  const auto w = open_torch(kTorchGoldens + name);
  return w.ok() ? "" : w.error().text();
}

std::vector<std::byte> read(const WeightSource& w, const std::string& name, DType as) {
  std::vector<std::byte> bytes(static_cast<size_t>(w.find(name)->type.count() * size_of(as)));
  const Status done = w.read(name, as, bytes);
  EXPECT_TRUE(done.ok()) << done.error().text();
  return bytes;
}

std::vector<float> floats(const WeightSource& w, const std::string& name) {
  const auto bytes = read(w, name, DType::f32);
  std::vector<float> x(bytes.size() / sizeof(float));
  std::memcpy(x.data(), bytes.data(), bytes.size());
  return x;
}

class TorchFile : public testing::TestWithParam<std::string> {};

TEST_P(TorchFile, HoldsTheTensorsBitByBit) {
  const auto want = open_weights(kTorchGoldens + "tensors.safetensors").value();
  const auto opened = open_weights(kTorchGoldens + "tensors." + GetParam() + ".bin");
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  const WeightSource& got = **opened;
  ASSERT_EQ(got.tensors().size(), want->tensors().size());
  for (const TensorInfo& w : want->tensors()) {
    const TensorInfo* g = got.find(w.name);
    ASSERT_NE(g, nullptr) << w.name;
    EXPECT_EQ(g->type, w.type) << w.name;
    EXPECT_EQ(g->scheme, w.scheme) << w.name;
    EXPECT_EQ(g->bytes, w.bytes) << w.name;
    EXPECT_EQ(read(got, w.name, g->type.dtype), read(*want, w.name, w.type.dtype)) << w.name;
    if (is_float(g->type.dtype)) {
      EXPECT_EQ(read(got, w.name, DType::f64), read(*want, w.name, DType::f64)) << w.name;
    }
  }
  EXPECT_EQ(got.tensors().front().name, "float64");                    // the order of the file
  EXPECT_EQ(got.find("row")->offset, got.find("whole")->offset + 48);  // one storage
}

TEST(TorchFiles, FindsTheWeightsUnderAWrapper) {
  for (const std::string format : {"zip", "legacy"}) {
    const auto w = open_torch(kTorchGoldens + "wrapped." + format + ".bin");
    ASSERT_TRUE(w.ok()) << w.error().text();
    ASSERT_EQ((*w)->tensors().size(), 1u);
    EXPECT_EQ(floats(**w, "w"), (std::vector<float>{1, 2, 3, 4}));
  }
}

TEST_P(TorchFile, CutAnywhereIsAnError) {
  const std::string whole = bytes_of("tensors." + GetParam() + ".bin");
  for (size_t n = 0; n < whole.size(); n += 61) {
    const auto w = open_torch(memory_byte_file("cut.bin", whole.substr(0, n)));
    ASSERT_FALSE(w.ok()) << n;
    EXPECT_THAT(w.error().text(), HasSubstr("cut.bin")) << n;
  }
}
INSTANTIATE_TEST_SUITE_P(Formats, TorchFile, testing::Values("zip", "legacy", "legacy3", "legacy5"),
                         [](const auto& i) { return i.param; });

TEST(TorchFiles, NestedUncommonAndShards) {
  EXPECT_EQ(floats(*open_weights(kTorchGoldens + "nested.pt").value(), "w"),
            (std::vector<float>{1, 1}));
  const auto u = open_weights(kTorchGoldens + "uncommon.bin").value();
  EXPECT_EQ(u->find("u16")->scheme, "U16");
  EXPECT_EQ(floats(*u, "u16"), (std::vector<float>{7, 65535}));
  EXPECT_EQ(floats(*u, "attributes"), (std::vector<float>{1, 1}));
  std::vector<std::byte> one(4);
  EXPECT_STREQ(u->read("c64", DType::f32, one).error().code(), "H2206");
  const auto w = open_weights(kTorchGoldens + "pytorch_model.bin.index.json").value();
  EXPECT_EQ(floats(*w, "a"), (std::vector<float>{1, 2}));
  EXPECT_EQ(floats(*w, "b"), (std::vector<float>{3}));
}

TEST(TorchFiles, WhatIsNoDictOfTensorsIsRefusedByName) {
  EXPECT_THAT(error_of("stranger.bin"),
              testing::AllOf(HasSubstr("H2703"), HasSubstr("'__main__.Stranger'"),
                             HasSubstr("value 's'"), HasSubstr("model.state_dict()")));
  EXPECT_THAT(error_of("module.bin"), HasSubstr("'torch.nn.modules.linear.Linear'"));
  EXPECT_THAT(error_of("script.pt"), HasSubstr("is a TorchScript program"));
  EXPECT_THAT(error_of("list.bin"), HasSubstr("holds no dict of tensors by name"));
  const auto error = [](std::string bytes) {
    return open_torch(memory_byte_file("x.bin", std::move(bytes))).error().text();
  };
  EXPECT_THAT(error("version https://git-lfs.github.com/spec/v1"), HasSubstr("pointer of git-lfs"));
  EXPECT_THAT(error("hello"), HasSubstr("is not a file of torch.save"));
  EXPECT_THAT(error(""), HasSubstr("is not a file of torch.save"));
  // A bomb in place of the object.
  const std::string legacy = bytes_of("wrapped.legacy.bin");
  EXPECT_THAT(error(legacy.substr(0, 137) + "\x80\x02Nr\xff\xff\xff\x7f." + legacy.substr(137)),
              HasSubstr("H2704"));
}

TEST(TorchFiles, StorageThatIsTooSmallIsAnError) {
  std::string zip = bytes_of("nested.pt");
  // The stride of the only tensor, in a tuple of one: from 1 to 200.
  const size_t at = zip.find("K\x01\x85");
  ASSERT_NE(at, std::string::npos);
  zip[at + 1] = static_cast<char>(200);
  EXPECT_THAT(open_torch(memory_byte_file("x.bin", zip)).error().text(),
              HasSubstr("tensor 'w' of shape [2] at element 0 of a storage of 2"));
}

// Archives of more than 4 GiB have 64-bit places; here the small one is given them.
TEST(ZipEntries, ReadsSixtyFourBitRecords) {
  std::string zip;
  const auto put = [&](auto x) { zip.append(reinterpret_cast<const char*>(&x), sizeof x); };
  const auto u16 = [&](int x) { put(static_cast<uint16_t>(x)); };
  put(uint32_t{0x04034b50});
  for (const int x : {45, 0, 0, 0, 0}) u16(x);
  for (const uint32_t x : {0u, 5u, 5u}) put(x);
  u16(1), u16(2);
  zip += "axxhello";
  const uint64_t directory = zip.size();
  put(uint32_t{0x02014b50});
  for (const int x : {45, 45, 0, 0, 0, 0}) u16(x);
  for (const uint32_t x : {0u, ~0u, ~0u}) put(x);
  for (const int x : {1, 28, 0, 0, 0}) u16(x);
  put(uint32_t{0}), put(~0u);
  zip += "a";
  u16(1), u16(24), put(uint64_t{5}), put(uint64_t{5}), put(uint64_t{0});
  const uint64_t size = zip.size() - directory, end = zip.size();
  put(uint32_t{0x06064b50}), put(uint64_t{44}), u16(45), u16(45), put(uint32_t{0}),
      put(uint32_t{0});
  put(uint64_t{1}), put(uint64_t{1}), put(size), put(directory);
  put(uint32_t{0x07064b50}), put(uint32_t{0}), put(end), put(uint32_t{1});
  put(uint32_t{0x06054b50}), u16(0), u16(0), u16(0xffff), u16(0xffff), put(~0u), put(~0u), u16(0);
  const auto file = memory_byte_file("x.zip", zip);
  ASSERT_TRUE(is_zip(*file));
  const auto entries = read_zip_entries(*file);
  ASSERT_TRUE(entries.ok()) << entries.error().text();
  const ZipEntry& e = entries->at("a");
  EXPECT_EQ(zip.substr(static_cast<size_t>(e.offset), static_cast<size_t>(e.bytes)), "hello");
  EXPECT_TRUE(e.stored);
}

}  // namespace
}  // namespace hone
