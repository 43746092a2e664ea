// The images of a split. For each image: its label, and the place of its encoded bytes (a file, a part of an archive,
// or memory).
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
  // Adds the path or URL of a folder or of an archive. Returns its index, which add_file and add_range take.
  int32_t add_folder(std::string folder);
  // Adds an image that is the file `name` in a folder. `bytes` is the size of the file, or 0 if it is not known.
  // `label` may be kNoLabel in all add functions.
  void add_file(int32_t folder, std::string_view name, int64_t bytes, int32_t label);
  // Adds an image whose encoded bytes are the `bytes` bytes at `offset` in an archive. `archive` is the index that
  // add_folder() returned for the archive.
  void add_range(int32_t archive, std::string_view name, int64_t offset, int64_t bytes,
                 int32_t label);
  // Adds an image whose encoded bytes are copied into this object. `name` is for messages.
  void add_bytes(std::string_view bytes, std::string_view name, int32_t label);
  // Sets the label of each row i to label_of(i).
  template <class Fn>
  void set_labels(Fn&& label_of) {
    for (size_t i = 0; i < rows_.size(); ++i) rows_[i].label = label_of(static_cast<int64_t>(i));
  }
  // Adds copies of the first `rows` rows of `other`.
  void append(const ImageRows& other, int64_t rows);
  // A copy with these rows in this order. number() of a row does not change.
  ImageRows picked(const std::vector<int64_t>& rows) const;

  // The index that the row had before the first picked(). If this object was not made by picked(): `row`.
  int64_t number(int64_t row) const {
    const int64_t number = rows_[static_cast<size_t>(row)].number;
    return number < 0 ? row : number;
  }
  int32_t label(int64_t row) const { return rows_[static_cast<size_t>(row)].label; }
  // The path of the image, or for images in memory the name that add_bytes was given ("train.parquet row 7").
  std::string name(int64_t row) const;
  // The encoded bytes of an image. Reads them into `memory` unless they are in this object; the view is then valid
  // until `memory` changes. May be called by several threads at a time. Errors: those of the store.
  Result<std::string_view> bytes(int64_t row, std::string& memory) const;
  bool is_remote() const;        // true: some images have URLs, so reads wait for a network
  int64_t memory_bytes() const;  // the memory that this object takes, in bytes
  // A hash of all rows in order: labels; names, sizes and offsets of files; bytes of images in memory. Only the
  // last part of a folder's path counts, so the hash stays the same if the data set is moved.
  uint64_t hash() const;

 private:
  struct Row {
    int64_t name = 0;     // offset in names_
    int64_t bytes = -1;   // offset in bytes_; -1: the image is in a file
    int64_t offset = -1;  // offset in the archive folders_[folder]; -1: a file in that folder
    int64_t size = 0;
    int32_t name_size = 0;
    int32_t folder = 0;
    int32_t label = kNoLabel;
    int64_t number = -1;  // see number(); -1: the row's own index
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
