#include "learn/checkpoint/safetensors/safetensors.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/store/hash.h"
#include "base/store/temporary_folder.h"
#include "learn/checkpoint/open_weights.h"
#include "learn/checkpoint/safetensors/convert.h"
#include "learn/checkpoint/safetensors/safetensors_writer.h"

namespace hone {
namespace {
namespace fs = std::filesystem;

const std::string kSafetensorsGoldens = HONE_SOURCE_DIR "/tests/goldens/checkpoint/";

template <class T>
std::vector<T> read_as(const WeightSource& w, const std::string& name, DType as) {
  std::vector<T> out(static_cast<size_t>(w.find(name)->type.count()));
  const Status s = w.read(name, as, std::as_writable_bytes(std::span(out)));
  EXPECT_TRUE(s.ok()) << (s.ok() ? "" : s.error().text());
  return out;
}

// A file from a header and data, its length in front.
std::string file_of(std::string header, size_t data) {
  uint64_t n = header.size();
  return std::string(reinterpret_cast<const char*>(&n), 8) + header + std::string(data, 'x');
}

void refused_header(const std::string& bytes, const std::string& why) {
  const auto r = read_safetensors_header(*memory_byte_file("m.safetensors", bytes));
  ASSERT_FALSE(r.ok()) << why;
  EXPECT_STREQ(r.error().code(), "H2203") << r.error().text();
  EXPECT_NE(r.error().what().find(why), std::string::npos) << r.error().text();
  EXPECT_NE(r.error().what().find("m.safetensors"), std::string::npos) << r.error().text();
}

TEST(Safetensors, ReadsWhatTheReferenceWrote) {
  const auto w = open_weights(kSafetensorsGoldens + "mixed.safetensors").value();
  EXPECT_EQ(w->tensors().size(), 12u);
  EXPECT_EQ(w->metadata().at("format"), "pt");
  EXPECT_EQ(w->find("float.bf16")->type.text(), "bf16[2,4]");
  EXPECT_EQ(w->find("empty")->type.text(), "f32[0,3]");
  EXPECT_EQ(w->find("scalar")->type.text(), "f32[]");
  EXPECT_EQ(read_as<float>(*w, "scalar", DType::f32), std::vector<float>{7});
  const std::vector<float> exact{0, 1, -2.5f, 0.1f, 1e-3f, 65504, -0.0f, 3.14159f};
  EXPECT_EQ(read_as<float>(*w, "float.f32", DType::f32), exact);
  EXPECT_EQ(read_as<float>(*w, "float.f64", DType::f32), exact);
  EXPECT_EQ(read_as<double>(*w, "float.f64", DType::f64)[3], 0.1);
  EXPECT_EQ(read_as<float>(*w, "float.bf16", DType::f32)[3], 0.10009765625f);
  EXPECT_EQ(read_as<double>(*w, "float.f16", DType::f64)[3], 0.0999755859375);
  EXPECT_EQ(read_as<uint16_t>(*w, "float.f32", DType::bf16),
            read_as<uint16_t>(*w, "float.bf16", DType::bf16));
  EXPECT_EQ(read_as<uint16_t>(*w, "float.f32", DType::f16),
            read_as<uint16_t>(*w, "float.f16", DType::f16));
  for (const char* name : {"int.i64", "int.i32", "int.i8", "int.u8"})
    EXPECT_EQ(read_as<int64_t>(*w, name, DType::i64), (std::vector<int64_t>{0, 1, 2, 100, 127}))
        << name;
  EXPECT_EQ(read_as<float>(*w, "truth", DType::f32), (std::vector<float>{1, 0, 1}));
}

TEST(Safetensors, ARangeOfATensor) {
  const auto w = open_weights(kSafetensorsGoldens + "mixed.safetensors").value();
  for (const char* name : {"float.f32", "float.bf16", "float.f16", "float.f64"}) {
    const std::vector<float> all = read_as<float>(*w, name, DType::f32);
    for (size_t first = 0; first < all.size(); ++first)
      for (size_t end = first; end <= all.size(); ++end) {
        std::vector<float> part(end - first);
        ASSERT_TRUE(w->read_range(name, DType::f32, static_cast<int64_t>(first),
                                  std::as_writable_bytes(std::span(part)))
                        .ok());
        EXPECT_EQ(part, std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(first),
                                           all.begin() + static_cast<std::ptrdiff_t>(end)))
            << name;
      }
  }
  std::vector<float> more(3);
  const auto bytes = std::as_writable_bytes(std::span(more));
  EXPECT_THROW((void)w->read_range("float.f32", DType::f32, 6, bytes), Bug);
  EXPECT_FALSE(w->read_range("float", DType::f32, 0, bytes).ok());
}

TEST(Safetensors, UncommonElements) {
  const auto w = open_weights(kSafetensorsGoldens + "uncommon.safetensors").value();
  EXPECT_EQ(w->find("u16")->scheme, "U16");
  EXPECT_EQ(read_as<int32_t>(*w, "i16", DType::i32), (std::vector<int32_t>{-5, 300}));
  EXPECT_EQ(read_as<int64_t>(*w, "u32", DType::i64), (std::vector<int64_t>{4294967295}));
  std::vector<int32_t> one(1), two(2);
  EXPECT_STREQ(w->read("u32", DType::i32, std::as_writable_bytes(std::span(one))).error().code(),
               "H2206");
  const Status f8 = w->read("f8", DType::f32, std::as_writable_bytes(std::span(two)));
  EXPECT_NE(f8.error().text().find("F8_E4M3"), std::string::npos);
}

TEST(Safetensors, UnknownNameHasTheNearest) {
  const auto w = open_weights(kSafetensorsGoldens + "mixed.safetensors").value();
  float x = 0;
  const Status s = w->read("skalar", DType::f32, std::as_writable_bytes(std::span(&x, 1)));
  EXPECT_STREQ(s.error().code(), "H2205");
  EXPECT_NE(s.error().remedy().find("'scalar'"), std::string::npos) << s.error().text();
}

TEST(Safetensors, EveryHalfIsExact) {
  std::vector<uint16_t> bits(65536);
  std::vector<float> values(65536);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  convert(Stored::f16, std::as_bytes(std::span(bits)).data(), DType::f32,
          std::as_writable_bytes(std::span(values)).data(), 65536);
  for (float& v : values)
    if (v != v) v = 0;
  Sha256 hash;
  hash.add(std::as_bytes(std::span(values)));
  EXPECT_EQ(hash.hex() + "\n", file_store().read(kSafetensorsGoldens + "half.sha256").value());
}

// The reader's tensors, written again, are the reference's bytes.
TEST(SafetensorsWriter, BytesOfTheReference) {
  TemporaryFolder t;
  const auto w = open_weights(kSafetensorsGoldens + "mixed.safetensors").value();
  std::vector<std::vector<std::byte>> bytes;
  std::vector<TensorData> data;
  for (const TensorInfo& i : w->tensors()) {
    bytes.emplace_back(static_cast<size_t>(i.bytes));
    ASSERT_TRUE(w->read(i.name, i.type.dtype, bytes.back()).ok());
    data.insert(data.begin(), {i.name, i.type, bytes.back(), {}});
  }
  ASSERT_TRUE(save_safetensors(t.path, "model", data).ok());
  EXPECT_EQ(file_store().read(t.path + "/model.safetensors").value(),
            file_store().read(kSafetensorsGoldens + "mixed.safetensors").value());
}

TEST(SafetensorsWriter, ShardsConvertsAndReplaces) {
  TemporaryFolder t;
  std::vector<std::vector<float>> values(5, std::vector<float>(100));
  std::vector<TensorData> data;
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t k = 0; k < 100; ++k)
      values[i][k] = static_cast<float>(i) + static_cast<float>(k) / 128;
    data.push_back(
        {fmt::format("w{}", i), {DType::f32, {10, 10}}, std::as_bytes(std::span(values[i])), {}});
  }
  data[4].as = DType::f16;
  ASSERT_TRUE(save_safetensors(t.path, "model", data, 900).ok());
  EXPECT_TRUE(fs::exists(t.path + "/model-00003-of-00003.safetensors"));
  const Json index = *read_json_file(t.path + "/model.safetensors.index.json");
  EXPECT_EQ(index["metadata"]["total_size"], 1800);
  EXPECT_EQ(index["weight_map"]["w2"], "model-00002-of-00003.safetensors");
  {
    const auto w = open_weights(t.path).value();
    EXPECT_EQ(w->tensors().size(), 5u);
    EXPECT_EQ(w->find("w4")->type.dtype, DType::f16);
    for (size_t i = 0; i < 5; ++i)
      EXPECT_EQ(read_as<float>(*w, fmt::format("w{}", i), DType::f32), values[i]);
  }
  fs::remove(t.path + "/model-00002-of-00003.safetensors");
  EXPECT_STREQ(open_weights(t.path).error().code(), "H2204");
  ASSERT_TRUE(save_safetensors(t.path, "model", data).ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(t.path), {}), 1);  // the shards are gone
  EXPECT_EQ(open_weights(t.path).value()->tensors().size(), 5u);
  data[0].type.dtype = DType::f32;
  data[0].as = DType::i32;
  EXPECT_STREQ(save_safetensors(t.path, "model", data).error().code(), "H2206");
  EXPECT_EQ(open_weights(t.path).value()->tensors().size(), 5u);  // the earlier file wins
}

TEST(Safetensors, HostileHeaders) {
  refused_header("", "too few");
  refused_header("1234567", "too few");
  refused_header(std::string(8, '\xff') + "{}", "limit");
  refused_header(file_of("{}", 0).replace(0, 1, "\x09"), "cut short");
  refused_header(file_of(" {}", 0), "begin with");
  refused_header(file_of("{", 0), "JSON");
  refused_header(file_of("[]", 0), "begin with");
  refused_header(file_of("{} {}", 0), "JSON");
  refused_header(file_of("{\"a\":\"\xff\"}", 0), "JSON");
  refused_header(file_of("{}", 1), "1 bytes follow");
  const auto one = [](const std::string& dtype, const std::string& shape,
                      const std::string& range) {
    return fmt::format(R"({{"t":{{"dtype":{},"shape":{},"data_offsets":{}}}}})", dtype, shape,
                       range);
  };
  refused_header(file_of(one("\"F32\"", "[2]", "[0,8]"), 7), "cut short");
  refused_header(file_of(one("\"F32\"", "[2]", "[0,8]"), 9), "follow the last");
  refused_header(file_of(one("\"F32\"", "[2]", "[0,4]"), 4), "do not span");
  refused_header(file_of(one("\"F32\"", "[2]", "[8,0]"), 8), "do not span");
  refused_header(file_of(one("\"F32\"", "[2]", "[4,12]"), 12), "hole");
  refused_header(file_of(one("\"F32\"", "[-1]", "[0,8]"), 8), "not a size");
  refused_header(file_of(one("\"F32\"", "[2.0]", "[0,8]"), 8), "not a size");
  refused_header(file_of(one("\"F32\"", "[4294967296,4294967296]", "[0,8]"), 8), "63 bits");
  refused_header(file_of(one("\"F32\"", "[2305843009213693952]", "[0,0]"), 0),
                 "whole number of bytes");
  refused_header(file_of(one("\"F32\"", "2", "[0,8]"), 8), "shape");
  refused_header(file_of(one("\"F33\"", "[2]", "[0,8]"), 8), "'F33' is unknown");
  refused_header(file_of(one("3", "[2]", "[0,8]"), 8), "dtype");
  refused_header(file_of(one("\"F32\"", "[2]", "[0,8,9]"), 8), "byte positions");
  refused_header(file_of(one("\"F32\"", "[2]", "[0,18446744073709551615]"), 8), "byte positions");
  refused_header(file_of(one("\"F4\"", "[3]", "[0,1]"), 1), "whole number of bytes");
  refused_header(file_of(R"({"t":{"shape":[1],"data_offsets":[0,4]}})", 4), "no 'dtype'");
  refused_header(file_of(R"({"t":4})", 4), "not an object");
  refused_header(
      file_of(
          R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
          3),
      "'b' overlaps");
  refused_header(
      file_of(
          R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
          2),
      "twice");
  refused_header(file_of(R"({"__metadata__":{"a":1}})", 0), "not a string");
  refused_header(file_of(R"({"__metadata__":[]})", 0), "not an object");
  refused_header(file_of("{\"a\":" + std::string(100000, '['), 0), "levels");
}

TEST(OpenWeights, SaysWhatItFound) {
  TemporaryFolder t;
  EXPECT_STREQ(open_weights(t.path + "/none").error().code(), "H2201");
  EXPECT_STREQ(open_weights(t.path).error().code(), "H2201");
  EXPECT_STREQ(load_config(t.path).error().code(), "H2210");
  fs::create_directories(t.path + "/odd/model.safetensors");
  EXPECT_STREQ(open_weights(t.path + "/odd").error().code(), "H2202");
  ASSERT_TRUE(file_store().write(t.path + "/pytorch_model.bin", "PK").ok());
  const Error pickle = open_weights(t.path).error();
  EXPECT_STREQ(pickle.code(), "H2207");
  EXPECT_NE(pickle.what().find("not a file of torch.save"), std::string::npos);
  EXPECT_STREQ(open_weights(t.path + "/pytorch_model.bin").error().code(), "H2207");
  fs::copy_file(kSafetensorsGoldens + "llama.gguf", t.path + "/a.gguf");
  EXPECT_EQ(open_weights(t.path).value()->tensors().size(), 20u);
  EXPECT_EQ(load_config(t.path).value()["model_type"], "llama");
  fs::copy_file(kSafetensorsGoldens + "llama.gguf", t.path + "/b.gguf");
  EXPECT_STREQ(open_weights(t.path).error().code(), "H2201");
  ASSERT_TRUE(
      file_store().write(t.path + "/config.json", "{\"model_type\": \"gpt2\", \"x\": NaN}").ok());
  EXPECT_EQ(load_config(t.path).value()["model_type"], "gpt2");
  ASSERT_TRUE(file_store().write(t.path + "/config.json", "[]").ok());
  EXPECT_STREQ(load_config(t.path).error().code(), "H2210");
  for (const char* map :
       {"[]", "{}", R"({"weight_map":{"a":3}})", R"({"weight_map":{"a":"../x.safetensors"}})",
        R"({"weight_map":{"a":"none.safetensors"}})"}) {
    ASSERT_TRUE(file_store().write(t.path + "/model.safetensors.index.json", map).ok());
    EXPECT_STREQ(open_weights(t.path).error().code(), "H2204") << map;
  }
}

}  // namespace
}  // namespace hone
