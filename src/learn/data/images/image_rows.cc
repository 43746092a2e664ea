#include "learn/data/images/image_rows.h"

#include <algorithm>

#include "base/core/hash.h"
#include "base/store/store.h"

namespace hone {

int32_t ImageRows::add_folder(std::string folder) {
  folders_.push_back(std::move(folder));
  return static_cast<int32_t>(folders_.size()) - 1;
}

void ImageRows::add_file(int32_t folder, std::string_view name, int64_t bytes, int32_t label) {
  add_range(folder, name, -1, bytes, label);
}

void ImageRows::add_range(int32_t archive, std::string_view name, int64_t offset, int64_t bytes,
                          int32_t label) {
  rows_.push_back({static_cast<int64_t>(names_.size()), -1, offset, bytes,
                   static_cast<int32_t>(name.size()), archive, label});
  names_.append(name);
}

void ImageRows::add_bytes(std::string_view bytes, std::string_view name, int32_t label) {
  rows_.push_back({static_cast<int64_t>(names_.size()), static_cast<int64_t>(bytes_.size()), -1,
                   std::ssize(bytes), static_cast<int32_t>(name.size()), 0, label});
  names_.append(name);
  bytes_.append(bytes);
}

void ImageRows::add_row_of(const ImageRows& other, int64_t i, int32_t first_folder) {
  const Row& row = other.rows_[static_cast<size_t>(i)];
  if (row.bytes < 0)
    add_range(first_folder + row.folder, other.name_of(row), row.offset, row.size, row.label);
  else
    add_bytes({other.bytes_.data() + row.bytes, static_cast<size_t>(row.size)}, other.name_of(row),
              row.label);
}

void ImageRows::append(const ImageRows& other, int64_t rows) {
  const auto first = static_cast<int32_t>(folders_.size());
  folders_.insert(folders_.end(), other.folders_.begin(), other.folders_.end());
  for (int64_t i = 0; i < rows; ++i) add_row_of(other, i, first);
}

ImageRows ImageRows::picked(const std::vector<int64_t>& rows) const {
  ImageRows out;
  out.folders_ = folders_;
  for (const int64_t i : rows) {
    out.add_row_of(*this, i, 0);
    out.rows_.back().number = number(i);
  }
  return out;
}

std::string ImageRows::name(int64_t i) const {
  const Row& row = rows_[static_cast<size_t>(i)];
  if (row.bytes >= 0) return std::string(name_of(row));
  return fmt::format("{}/{}", folders_[static_cast<size_t>(row.folder)], name_of(row));
}

Result<std::string_view> ImageRows::bytes(int64_t i, std::string& memory) const {
  const Row& row = rows_[static_cast<size_t>(i)];
  if (row.bytes >= 0)
    return std::string_view(bytes_.data() + row.bytes, static_cast<size_t>(row.size));
  memory = HONE_TRY(row.offset < 0 ? file_store().read(name(i))
                                   : file_store().read(folders_[static_cast<size_t>(row.folder)],
                                                       row.offset, row.size));
  return std::string_view(memory);
}

bool ImageRows::is_remote() const {
  return std::any_of(folders_.begin(), folders_.end(), [](const std::string& folder) {
    return folder.find("://") != std::string::npos;
  });
}

int64_t ImageRows::memory_bytes() const {
  return static_cast<int64_t>(names_.capacity() + bytes_.capacity() +
                              rows_.capacity() * sizeof(Row));
}

uint64_t ImageRows::hash() const {
  uint64_t hash = kFnvBasis;
  for (const Row& row : rows_) {
    if (row.bytes < 0) {
      const std::string& folder = folders_[static_cast<size_t>(row.folder)];
      hash = fnv1a(std::string_view(folder).substr(folder.find_last_of('/') + 1), hash);
      hash = fnv1a(name_of(row), hash);
      hash = fnv1a(hash, static_cast<uint64_t>(row.size));
      hash = fnv1a(hash, static_cast<uint64_t>(row.offset));
    } else {
      hash = fnv1a({bytes_.data() + row.bytes, static_cast<size_t>(row.size)}, hash);
    }
    hash = fnv1a(hash, static_cast<uint64_t>(static_cast<uint32_t>(row.label)));
  }
  return hash;
}

}  // namespace hone
