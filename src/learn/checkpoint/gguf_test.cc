#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "base/store/hash.h"
#include "base/store/temporary_folder.h"
#include "learn/checkpoint/gguf/gguf_weights.h"
#include "learn/checkpoint/gguf/gguf_writer.h"
#include "learn/checkpoint/open_weights.h"

namespace hone {
namespace {

const std::string kGoldens = HONE_SOURCE_DIR "/tests/goldens/checkpoint/";

std::string sha(std::span<const float> values) {
  Sha256 h;
  h.add(std::as_bytes(values));
  return h.hex();
}

TEST(GgmlQuants, BitEqualToGgufPy) {
  const auto file = open_byte_file(kGoldens + "quants.gguf").value();
  const GgufFile g = read_gguf(*file).value();
  const Json expected = *read_json_file(kGoldens + "quants.json");
  ASSERT_EQ(g.tensors.size(), expected.size());
  for (const GgufTensor& t : g.tensors) {
    std::vector<std::byte> raw(static_cast<size_t>(t.bytes));
    ASSERT_TRUE(file->read_at(t.offset, raw).ok());
    std::vector<float> values(512);
    t.format->decode(raw.data(), 512 / t.format->block, values.data());
    EXPECT_EQ(sha(values), expected[t.name].get<std::string>()) << t.name;
  }
}

class GgufModel : public testing::TestWithParam<std::string> {};

TEST_P(GgufModel, IsWhatTransformersLoads) {
  const std::string path = kGoldens + GetParam() + ".gguf";
  const Json golden = *read_json_file(kGoldens + GetParam() + ".json");
  const Json config = load_config(path).value();
  for (const auto& [key, value] : golden["config"].items())
    EXPECT_EQ(config.value(key, Json()), value) << key;
  const auto w = open_weights(path).value();
  ASSERT_EQ(w->tensors().size(), golden["tensors"].size());
  for (const auto& [name, want] : golden["tensors"].items()) {
    const TensorInfo* t = w->find(name);
    ASSERT_NE(t, nullptr) << name;
    EXPECT_EQ(Json(t->type.shape), want["shape"]) << name;
    const size_t n = static_cast<size_t>(t->type.count());
    std::vector<float> values(n), as_f64(n);
    ASSERT_TRUE(w->read(name, DType::f32, std::as_writable_bytes(std::span(values))).ok());
    EXPECT_EQ(sha(values), want["sha256"].get<std::string>()) << name;
    std::vector<double> wide(n);
    ASSERT_TRUE(w->read(name, DType::f64, std::as_writable_bytes(std::span(wide))).ok());
    for (size_t i = 0; i < n; ++i) as_f64[i] = static_cast<float>(wide[i]);
    EXPECT_EQ(sha(as_f64), want["sha256"].get<std::string>()) << name << " through f64";
    std::vector<int32_t> whole(n);
    EXPECT_STREQ(w->read(name, DType::i32, std::as_writable_bytes(std::span(whole))).error().code(),
                 "H2206");
  }
}
INSTANTIATE_TEST_SUITE_P(Goldens, GgufModel, testing::Values("llama", "qwen2", "gpt2"),
                         [](const auto& i) { return i.param; });

const GgufLayout& layout(const char* architecture) {
  return *gguf_type({.architecture = architecture})->type->gguf;
}

TEST(Gguf, Names) {
  EXPECT_EQ(hf_name_of(layout("llama"), "blk.12.ffn_gate.weight"),
            "model.layers.12.mlp.gate_proj.weight");
  EXPECT_EQ(hf_name_of(layout("gpt2"), "blk.0.attn_qkv.bias"), "transformer.h.0.attn.c_attn.bias");
  for (const char* none :
       {"", "x", "blk.weight", "blk..attn_q.weight", "blk.1attn_q.weight", "blk.-1.attn_q.weight",
        "blk.03.attn_q.weight", "blk.-0.attn_q.weight", "blk.99999999999999999999.attn_q.weight",
        "blk.0.ffn_gate_exps.weight", "token_embd.scale"})
    EXPECT_EQ(hf_name_of(layout("llama"), none), "") << none;
}

// Writes GGUF by hand.
struct Maker {
  std::string bytes;
  template <class T>
  Maker& put(T x) {
    bytes.append(reinterpret_cast<const char*>(&x), sizeof x);
    return *this;
  }
  Maker& text(std::string_view s) {
    put<uint64_t>(s.size());
    bytes += s;
    return *this;
  }
  static Maker start(uint64_t tensors, uint64_t values, uint32_t version = 3) {
    Maker m;
    m.bytes = "GGUF";
    return m.put(version).put(tensors).put(values);
  }
  Maker& string_value(std::string_view key, std::string_view v) {
    return text(key).put<uint32_t>(8).text(v);
  }
  Maker& u32_value(std::string_view key, uint32_t v) { return text(key).put<uint32_t>(4).put(v); }
  Maker& tensor(std::string_view name, std::vector<uint64_t> inner_first, uint32_t format,
                uint64_t offset) {
    text(name).put(static_cast<uint32_t>(inner_first.size()));
    for (uint64_t d : inner_first) put(d);
    return put(format).put(offset);
  }
  std::string with_data(size_t n) const {
    std::string s = bytes;
    s.resize((s.size() + 31) / 32 * 32 + n);
    return s;
  }
};

void refused(const std::string& bytes, const char* code, const std::string& why) {
  const auto r = read_gguf(*memory_byte_file("m.gguf", bytes));
  ASSERT_FALSE(r.ok()) << why;
  EXPECT_STREQ(r.error().code(), code) << r.error().text();
  EXPECT_NE(r.error().what().find(why), std::string::npos) << r.error().text();
}

TEST(Gguf, HostileFiles) {
  refused("", "H2208", "ends at byte 0");
  refused("GGUX0000", "H2208", "does not begin");
  refused(Maker::start(0, 0, 1).bytes, "H2209", "version 1");
  refused(Maker::start(0, 0, 0x03000000).bytes, "H2209", "big-endian");
  refused(Maker::start(1u << 30, 0).bytes, "H2208", "claims 1073741824 tensors");
  refused(Maker::start(0, ~uint64_t{0}).bytes, "H2208", "claims");
  refused(Maker::start(0, 1).put<uint64_t>(uint64_t{1} << 62).bytes + std::string(20, 'x'), "H2208",
          "bytes of text");
  refused(Maker::start(0, 1).text("k").put<uint32_t>(13).bytes, "H2208", "unknown value type 13");
  refused(Maker::start(0, 1).text("k").put<uint32_t>(9).put<uint32_t>(9).put<uint64_t>(1).bytes,
          "H2208", "list of values of type 9");
  refused(Maker::start(0, 1)
              .text("k")
              .put<uint32_t>(9)
              .put<uint32_t>(8)
              .put<uint64_t>(uint64_t{1} << 60)
              .bytes,
          "H2208", "claims 1152921504606846976 values");
  refused(Maker::start(0, 1).text("k").put<uint32_t>(7).put<uint8_t>(2).bytes, "H2208",
          "truth value");
  refused(Maker::start(0, 1).text("k").put<uint32_t>(10).put<uint64_t>(~uint64_t{0}).bytes, "H2208",
          "63 bits");
  refused(Maker::start(0, 2).u32_value("k", 1).u32_value("k", 1).bytes, "H2208",
          "'k' appears twice");
  refused(Maker::start(0, 1).u32_value("general.alignment", 24).bytes, "H2208", "power of two");
  refused(Maker::start(0, 1).u32_value("general.alignment", 0).bytes, "H2208", "power of two");
  refused(Maker::start(1, 0).tensor("t", {2, 2, 2, 2, 2}, 0, 0).with_data(64), "H2208",
          "5 dimensions");
  refused(
      Maker::start(1, 0).tensor("t", {uint64_t{1} << 40, uint64_t{1} << 40}, 0, 0).with_data(64),
      "H2208", "63 bits");
  refused(Maker::start(1, 0).tensor("t", {~uint64_t{0}}, 0, 0).with_data(64), "H2208", "63 bits");
  refused(Maker::start(1, 0).tensor("t", {0, uint64_t{1} << 40}, 0, 0).with_data(64), "H2208",
          "dimension of 0");
  refused(Maker::start(1, 0).tensor("t", {8}, 99, 0).with_data(64), "H2209", "format 99");
  refused(Maker::start(1, 0).tensor("t", {33}, 8, 0).with_data(64), "H2208", "whole Q8_0 blocks");
  refused(Maker::start(1, 0).tensor("t", {8}, 0, 4).with_data(64), "H2208", "not a multiple of 32");
  refused(Maker::start(1, 0).tensor("t", {8}, 0, 32).with_data(63), "H2208", "cut short");
  refused(Maker::start(1, 0).tensor("t", {8}, 0, uint64_t{1} << 63).with_data(64), "H2208",
          "past the end");
  refused(Maker::start(2, 0).tensor("t", {8}, 0, 0).tensor("u", {8}, 0, 0).with_data(64), "H2208",
          "'t' and 'u' overlap");
  refused(Maker::start(2, 0).tensor("t", {8}, 0, 0).tensor("t", {8}, 0, 32).with_data(64), "H2208",
          "appears twice");
  EXPECT_TRUE(
      read_gguf(*memory_byte_file(
                    "m.gguf",
                    Maker::start(2, 0).tensor("t", {8}, 0, 0).tensor("u", {}, 0, 32).with_data(64)))
          .ok());
}

TEST(Gguf, EveryTruncationIsRefused) {
  const std::string whole = file_store().read(kGoldens + "llama.gguf").value();
  for (size_t n = 0; n < whole.size(); n += n < 6000 ? 13 : 997) {
    const auto r = read_gguf(*memory_byte_file("m.gguf", whole.substr(0, n)));
    ASSERT_FALSE(r.ok()) << n;
    EXPECT_STREQ(r.error().code(), "H2208");
  }
}

Maker llama(uint64_t tensors) {
  Maker m = Maker::start(tensors, 5);
  m.string_value("general.architecture", "llama");
  for (const char* key :
       {"block_count", "embedding_length", "feed_forward_length", "attention.head_count"})
    m.u32_value(std::string("llama.") + key, 2);
  return m;
}

void unusable(const std::string& bytes, const char* code, const std::string& why) {
  const auto r = open_gguf_weights(memory_byte_file("m.gguf", bytes));
  ASSERT_FALSE(r.ok()) << why;
  EXPECT_STREQ(r.error().code(), code) << r.error().text();
  EXPECT_NE(r.error().what().find(why), std::string::npos) << r.error().text();
}

TEST(Gguf, WhatHoneCannotUseIsNamed) {
  unusable(llama(0).bytes, "H2201", "no weights");
  unusable(llama(1).tensor("blk.0.ffn_gate_exps.weight", {8}, 0, 0).with_data(64), "H2209",
           "has no place in a llama model");
  unusable(llama(1).tensor("blk.0.ffn_up.weight", {256, 1}, 16, 0).with_data(66), "H2209",
           "kept as IQ2_XXS");
  unusable(llama(1).tensor("blk.0.attn_q.weight", {2, 3}, 0, 0).with_data(64), "H2209",
           "do not share evenly");
  unusable(llama(1).tensor("rope_freqs.weight", {2}, 0, 0).with_data(64), "H2209", "Llama 3");
  unusable(Maker::start(1, 1)
               .string_value("general.architecture", "rwkv7")
               .tensor("t", {8}, 0, 0)
               .with_data(64),
           "H2209", "'rwkv7'");
  unusable(Maker::start(1, 1)
               .string_value("general.architecture", "llama")
               .tensor("t", {8}, 0, 0)
               .with_data(64),
           "H2208", "num_hidden_layers");
  unusable(Maker::start(1, 0).tensor("t", {8}, 0, 0).with_data(64), "H2208",
           "general.architecture");
}

TEST(Gguf, Llama3RotaryScaling) {
  const double theta = 500000, factor = 32;
  std::vector<float> factors(64);
  for (size_t i = 0; i < 64; ++i) {
    const double wave = 2 * 3.14159265358979323846 * std::pow(theta, static_cast<double>(i) / 64);
    const double smooth = (8192 / wave - 1) / 3;
    factors[i] = static_cast<float>(wave < 2048   ? 1
                                    : wave > 8192 ? factor
                                                  : 1 / ((1 - smooth) / factor + smooth));
  }
  Maker m = Maker::start(1, 6);
  m.string_value("general.architecture", "llama");
  for (const char* key :
       {"block_count", "embedding_length", "feed_forward_length", "attention.head_count"})
    m.u32_value(std::string("llama.") + key, 2);
  m.text("llama.rope.freq_base")
      .put<uint32_t>(6)
      .put(500000.0f)
      .tensor("rope_freqs.weight", {64}, 0, 0);
  std::string bytes = m.with_data(256);
  std::memcpy(bytes.data() + bytes.size() - 256, factors.data(), 256);
  const auto file = memory_byte_file("m.gguf", bytes);
  const Json config = gguf_config(read_gguf(*file).value(), *file).value();
  EXPECT_EQ(config["rope_scaling"]["rope_type"], "llama3");
  EXPECT_EQ(config["rope_scaling"]["factor"], 32.0);
}

TEST(GgmlQuants, Mxfp4) {
  std::vector<std::byte> block(17);
  block[0] = std::byte{129};    // 2^2
  block[1] = std::byte{0xf1};   // 0.5 and -6
  block[16] = std::byte{0x2c};  // -2 and 1
  std::vector<float> x(32);
  ggml_format("MXFP4")->decode(block.data(), 1, x.data());
  EXPECT_EQ(x[0], 2);
  EXPECT_EQ(x[16], -24);
  EXPECT_EQ(x[15], -8);
  EXPECT_EQ(x[31], 4);
  EXPECT_EQ(x[1], 0);
}

// Experts of gpt-oss in MXFP4: gate and up are two tensors of the file, whose rows are columns of one weight.
TEST(Gguf, PartsOfAWeight) {
  Maker m = Maker::start(2, 6);
  m.string_value("general.architecture", "gpt-oss");
  for (const char* key : {"block_count", "embedding_length", "feed_forward_length",
                          "attention.head_count", "expert_count"})
    m.u32_value(std::string("gpt-oss.") + key, 2);
  m.tensor("blk.1.ffn_gate_exps.weight", {32, 2, 2}, 39, 0)
      .tensor("blk.1.ffn_up_exps.weight", {32, 2, 2}, 39, 96);
  std::string bytes = m.with_data(192);
  // Expert 1, row 0: 0.5 in column 3 of gate, and 1 in column 4 of up, with the exponents 0 and 1.
  char* gate = bytes.data() + bytes.size() - 192 + 2 * 17;
  char* up = gate + 96;
  gate[0] = 127, gate[1 + 3] = 0x01;
  up[0] = static_cast<char>(128), up[1 + 4] = 0x02;
  const auto w = std::move(open_gguf_weights(memory_byte_file("m.gguf", bytes)).value());
  ASSERT_EQ(w->tensors().size(), 1u);
  EXPECT_EQ(w->tensors()[0].name, "model.layers.1.mlp.experts.gate_up_proj");
  EXPECT_EQ(w->tensors()[0].type.shape, (Shape{2, 32, 4}));
  std::vector<float> x(2 * 32 * 4), want(x.size());
  ASSERT_TRUE(w->read(w->tensors()[0].name, DType::f32, std::as_writable_bytes(std::span(x))).ok());
  want[128 + 3 * 4] = 0.5;
  want[128 + 4 * 4 + 1] = 2;
  EXPECT_EQ(x, want);

  Maker half = Maker::start(1, 6);
  half.bytes = m.bytes.substr(0, m.bytes.find("blk.1.ffn_up_exps") - 8);
  half.bytes[8] = 1;
  unusable(half.with_data(96), "H2208", "is not whole");
}

TEST(GgmlQuants, Q8OfWholeBlocks) {
  const GgmlFormat& format = *ggml_format("Q8_0");
  std::vector<float> x(64), back(64);
  for (int i = 0; i < 32; ++i) x[static_cast<size_t>(i)] = static_cast<float>(i - 10) / 10;
  std::vector<std::byte> coded(68);
  format.encode(x.data(), 2, coded.data());
  format.decode(coded.data(), 2, back.data());
  const float d = 2.1f / 127;
  EXPECT_EQ(static_cast<int8_t>(coded[2 + 31]), 127);
  EXPECT_EQ(static_cast<int8_t>(coded[2]), -60);  // -1 / d = -60.47
  for (size_t i = 0; i < 64; ++i) EXPECT_NEAR(back[i], x[i], i < 32 ? 0.51f * d : 0) << i;
  // Coding decoded values again gives the same bytes.
  std::vector<std::byte> again(68);
  format.encode(back.data(), 2, again.data());
  EXPECT_EQ(again, coded);
}

TEST(GgufWriter, IsReadBack) {
  const TemporaryFolder folder;
  const std::string path = folder.path + "/m.gguf";
  const GgufMetadata metadata = {{"a.count", int64_t{7}},
                                 {"a.real", 0.5},
                                 {"a.flag", true},
                                 {"a.text", std::string("llama")},
                                 {"a.ids", std::vector<int64_t>{1, -2}},
                                 {"a.reals", std::vector<double>{-1, 2}},
                                 {"a.texts", std::vector<std::string>{"x", ""}}};
  const std::vector<GgufOutput> outputs = {{"vector", {3}, ggml_format("F32")},
                                           {"matrix", {2, 32}, ggml_format("Q8_0")},
                                           {"half", {1, 4}, ggml_format("F16")}};
  const auto written = save_gguf(path, metadata, outputs, [](size_t i, std::span<float> out) {
    for (size_t k = 0; k < out.size(); ++k) out[k] = static_cast<float>(k) - static_cast<float>(i);
    return Status(Ok{});
  });
  ASSERT_TRUE(written.ok()) << written.error().text();
  const auto file = open_byte_file(path).value();
  const GgufFile g = read_gguf(*file).value();
  EXPECT_EQ(g.version, 3u);
  for (const auto& [key, value] : metadata) EXPECT_EQ(g.metadata.at(key), value) << key;
  ASSERT_EQ(g.tensors.size(), outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const GgufTensor& t = g.tensors[i];
    EXPECT_EQ(t.name, outputs[i].name);
    EXPECT_EQ(t.shape, outputs[i].shape);
    EXPECT_EQ(t.offset % 32, 0);
    std::vector<std::byte> raw(static_cast<size_t>(t.bytes));
    ASSERT_TRUE(file->read_at(t.offset, raw).ok());
    std::vector<float> values(static_cast<size_t>(t.bytes / t.format->bytes * t.format->block));
    t.format->decode(raw.data(), t.bytes / t.format->bytes, values.data());
    for (size_t k = 0; k < values.size(); ++k)
      EXPECT_NEAR(values[k], static_cast<float>(k) - static_cast<float>(i), 0.3) << t.name << k;
  }
}

// The model of a file in `count` parts, as gguf-split names them; returns the first.
std::string split(const std::string& path, const std::string& folder, int64_t count) {
  const OpenGguf whole = open_gguf(path).value();
  const auto& tensors = whole.content.tensors;
  std::string first;
  for (int64_t k = count; k-- > 0;) {
    GgufMetadata metadata = {{"split.no", k},
                             {"split.count", count},
                             {"split.tensors.count", static_cast<int64_t>(tensors.size())}};
    if (k == 0)
      metadata.insert(metadata.end(), whole.content.metadata.begin(), whole.content.metadata.end());
    std::vector<GgufOutput> outputs;
    std::vector<const GgufTensor*> members;
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (static_cast<int64_t>(i) * count / std::ssize(tensors) != k) continue;
      members.push_back(&tensors[i]);
      outputs.push_back({tensors[i].name, tensors[i].shape, ggml_format("F32")});
    }
    first = fmt::format("{}/m-{:05}-of-{:05}.gguf", folder, k + 1, count);
    const auto written =
        save_gguf(first, metadata, outputs, [&](size_t i, std::span<float> out) -> Status {
          const GgufTensor& t = *members[i];
          std::vector<std::byte> raw(static_cast<size_t>(t.bytes));
          HONE_TRY(whole.file->read_at(t.offset, raw));
          t.format->decode(raw.data(), t.bytes / t.format->bytes, out.data());
          return Ok{};
        });
    EXPECT_TRUE(written.ok()) << written.error().text();
  }
  return first;
}

TEST(Gguf, PartsOfAModelAreReadAsOne) {
  const TemporaryFolder folder;
  const std::string path = kGoldens + "llama.gguf", first = split(path, folder.path, 3);
  const auto whole = open_weights(path).value();
  for (const std::string& name : {folder.path, first, folder.path + "/m-00003-of-00003.gguf"}) {
    const auto parts = open_weights(name).value();
    ASSERT_EQ(parts->tensors().size(), whole->tensors().size());
    for (const TensorInfo& t : whole->tensors()) {
      std::vector<float> a(static_cast<size_t>(t.type.count())), b(a.size());
      ASSERT_TRUE(whole->read(t.name, DType::f32, std::as_writable_bytes(std::span(a))).ok());
      ASSERT_TRUE(parts->read(t.name, DType::f32, std::as_writable_bytes(std::span(b))).ok());
      EXPECT_EQ(a, b) << t.name;
    }
  }
  EXPECT_EQ(load_config(folder.path).value(), load_config(path).value());

  const auto error = [&] { return open_weights(folder.path).error().text(); };
  std::filesystem::rename(folder.path + "/m-00002-of-00003.gguf", folder.path + "/kept");
  EXPECT_THAT(error(), testing::HasSubstr("m-00002-of-00003.gguf': this part of 3 does not exist"));
  std::filesystem::copy(folder.path + "/m-00003-of-00003.gguf",
                        folder.path + "/m-00002-of-00003.gguf");
  EXPECT_THAT(error(), testing::HasSubstr("it is not part 2 of 3"));
  std::filesystem::rename(first, folder.path + "/other.gguf");
  EXPECT_THAT(open_weights(folder.path + "/other.gguf").error().text(),
              testing::HasSubstr("it is one of 3 parts, which its name does not say"));
}

TEST(Gguf, NamesBack) {
  for (const char* name : {"blk.12.ffn_gate.weight", "token_embd.weight", "output_norm.weight"})
    EXPECT_EQ(ggml_name_of(layout("llama"), hf_name_of(layout("llama"), name)), name);
  for (const char* name : {"blk.0.attn_qkv.bias", "position_embd.weight", "output.weight"})
    EXPECT_EQ(ggml_name_of(layout("gpt2"), hf_name_of(layout("gpt2"), name)), name);
  for (const char* none : {"", "x", "model.layers.", "model.layers.3", "model.layers.3.mlp.weight"})
    EXPECT_EQ(ggml_name_of(layout("llama"), none), "") << none;
}

}  // namespace
}  // namespace hone
