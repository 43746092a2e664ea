// Writes vectors of equal length, such as embeddings, into files.
#pragma once

#include <span>
#include <string>

#include "base/core/error.h"

namespace hone {

// The names of the formats:
//   npy          NumPy's format, f32 [rows, width], little-endian
//   jsonl        a line {"embedding": [...]} for each row
//   safetensors  the tensor "embeddings" f32 [rows, width]
std::vector<std::string> vector_formats();
// The format that the extension of the file name stands for; "" for any other extension.
std::string vector_format_of(const std::string& file);

// Writes all rows: `values` [rows, width], row-major; `format` is one of vector_formats(). The file appears complete
// or not at all. Errors: those of the store.
Status write_vectors(const std::string& file, const std::string& format,
                     std::span<const float> values, int64_t width);
// One row as a line of the format jsonl, with its newline.
std::string vector_line(std::span<const float> row);

}  // namespace hone
