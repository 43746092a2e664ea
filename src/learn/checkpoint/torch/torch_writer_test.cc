#include "learn/checkpoint/torch/torch_writer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "learn/checkpoint/torch/torch_file.h"
#include "learn/checkpoint/torch/zip_entries.h"

namespace hone {
namespace {

TEST(TorchWriter, WhatItWritesIsReadAgain) {
  const auto folder = std::filesystem::temp_directory_path() /
                      fmt::format("hone_torch_writer_{}", static_cast<int>(getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "model.pth").string();
  const std::vector<float> a = {1, -2.5f, 3, 4, 5, 6}, one = {7};
  const std::vector<int64_t> ids = {1, int64_t{1} << 40};
  const std::vector<uint16_t> half = {0x3F80};
  const std::vector<TensorData> tensors = {
      {"model.roberta.weight", {DType::f32, {2, 3}}, std::as_bytes(std::span(a)), {}},
      {"scalar", {DType::f32, {}}, std::as_bytes(std::span(one)), {}},
      {"ids", {DType::i64, {2}}, std::as_bytes(std::span(ids)), {}},
      {"none", {DType::f32, {0, 4}}, {}, {}},
      {"half", {DType::bf16, {1, 1}}, std::as_bytes(std::span(half)), {}}};
  const Status saved = save_torch(path, tensors);
  ASSERT_TRUE(saved.ok()) << saved.error().text();
  const auto opened = open_torch(path);
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  ASSERT_EQ((*opened)->tensors().size(), tensors.size());
  for (const TensorData& t : tensors) {
    const TensorInfo* got = (*opened)->find(t.name);
    ASSERT_NE(got, nullptr) << t.name;
    EXPECT_EQ(got->type, t.type) << t.name;
    std::vector<std::byte> bytes(t.bytes.size());
    ASSERT_TRUE((*opened)->read(t.name, t.type.dtype, bytes).ok());
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), t.bytes.begin(), t.bytes.end())) << t.name;
  }
  EXPECT_EQ((*opened)->find("ids")->offset % 64, 0);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hone
