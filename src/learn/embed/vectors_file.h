// Files of vectors of equal length.
#pragma once

#include <span>
#include <string>

#include "base/core/error.h"

namespace hone {

// "npy": NumPy's format, f32 [rows, width], little-endian; "safetensors": the tensor `embeddings`; "jsonl": a line
// {"embedding": [...]} for each row.
std::vector<std::string> vector_formats();
// The format by the extension of a file name; "" if it has none of theirs.
std::string vector_format_of(const std::string& file);

// Writes all rows; the file appears whole or not at all. Errors: those of the store.
Status write_vectors(const std::string& file, const std::string& format,
                     std::span<const float> values, int64_t width);
// A row as a line of jsonl.
std::string vector_line(std::span<const float> row);

}  // namespace hone
