// The images of a split: where the bytes of each are, and its label. Nothing is decoded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"
#include "base/core/growing_array.h"

namespace hone {

class ImageRows {
 public:
  static constexpr int32_t kNoLabel = -1;

  int64_t size() const { return std::ssize(rows_); }
  // The image is a file of this folder, of any store.
  int32_t add_folder(std::string folder);
  void add_file(int32_t folder, std::string_view name, int64_t bytes, int32_t label);
  // The image is a part of a file, an archive that add_folder() named.
  void add_range(int32_t archive, std::string_view name, int64_t offset, int64_t bytes,
                 int32_t label);
  // The image is in memory.
  void add_bytes(std::string_view bytes, std::string_view name, int32_t label);
  template <class Fn>
  void set_labels(Fn&& label_of) {
    for (size_t i = 0; i < rows_.size(); ++i) rows_[i].label = label_of(static_cast<int64_t>(i));
  }
  // Adds the first `rows` rows of `other`.
  void append(const ImageRows& other, int64_t rows);
  // These rows, in this order; number() remains.
  ImageRows picked(const std::vector<int64_t>& rows) const;

  // The place of a row among those that it was picked from first.
  int64_t number(int64_t row) const {
    const int64_t number = rows_[static_cast<size_t>(row)].number;
    return number < 0 ? row : number;
  }
  int32_t label(int64_t row) const { return rows_[static_cast<size_t>(row)].label; }
  // The path, or the file and row that it comes from.
  std::string name(int64_t row) const;
  // The bytes of an image, in `memory` unless this object has them. May be called from several threads. Errors: those of
  // the store.
  Result<std::string_view> bytes(int64_t row, std::string& memory) const;
  bool is_remote() const;  // some images have URLs: reads wait for a network
  int64_t memory_bytes() const;
  // Hash of all names, sizes, bytes in memory and labels, in order; folders count by their last name.
  uint64_t hash() const;

 private:
  struct Row {
    int64_t name = 0;     // place in names_
    int64_t bytes = -1;   // place in bytes_; -1: a file
    int64_t offset = -1;  // in the file that is the folder; -1: the file is in the folder
    int64_t size = 0;
    int32_t name_size = 0;
    int32_t folder = 0;
    int32_t label = kNoLabel;
    int64_t number = -1;  // -1: its own place
  };
  void add_row_of(const ImageRows& other, int64_t i, int32_t first_folder);
  std::string_view name_of(const Row& row) const {
    return {names_.data() + row.name, static_cast<size_t>(row.name_size)};
  }
  std::vector<std::string> folders_;
  GrowingArray<char> names_, bytes_;
  std::vector<Row> rows_;
};

}  // namespace hone
