#include "learn/embed/vectors_file.h"

#include <algorithm>
#include <filesystem>

#include "base/core/json.h"
#include "base/store/store.h"
#include "learn/checkpoint/safetensors/safetensors_writer.h"

namespace hone {
namespace {

// The header of version 1.0: magic, its length, a Python dict, padded so that the data begin at a multiple of 64.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
std::string npy_header(int64_t rows, int64_t width) {
  std::string dict =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, width);
  constexpr size_t kBefore = 10, kUnit = 64;
  dict.append((kUnit - (kBefore + dict.size() + 1) % kUnit) % kUnit, ' ');
  dict += '\n';
  const auto length = static_cast<uint16_t>(dict.size());
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(length & 0xff);
  header += static_cast<char>(length >> 8);
  return header + dict;
}

}  // namespace

std::vector<std::string> vector_formats() { return {"npy", "jsonl", "safetensors"}; }

std::string vector_format_of(const std::string& file) {
  for (const std::string& format : vector_formats())
    if (file.ends_with("." + format)) return format;
  return "";
}

std::string vector_line(std::span<const float> row) {
  std::string line = "{\"embedding\": [";
  for (size_t i = 0; i < row.size(); ++i) line += fmt::format("{}{}", i == 0 ? "" : ", ", row[i]);
  return line + "]}\n";
}

Status write_vectors(const std::string& file, const std::string& format,
                     std::span<const float> values, int64_t width) {
  const int64_t rows = std::ssize(values) / width;
  if (format == "safetensors") {
    HashedFile out = HONE_TRY(HashedFile::create(file));
    const TensorData tensor{"embeddings", {DType::f32, {rows, width}}, std::as_bytes(values), {}};
    HONE_TRY(write_safetensors(out, {&tensor, 1}));
    return out.commit();
  }
  const auto out = HONE_TRY(file_store().create(file));
  if (format == "npy") {
    HONE_TRY(out->write(npy_header(rows, width)));
    HONE_TRY(out->write(std::as_bytes(values)));
  } else {
    for (int64_t i = 0; i < rows; ++i)
      HONE_TRY(out->write(
          vector_line(values.subspan(static_cast<size_t>(i * width), static_cast<size_t>(width)))));
  }
  return out->commit();
}

}  // namespace hone
