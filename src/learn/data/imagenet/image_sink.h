// Writes the prepared images of a split: into one folder for each class, or into tar archives of WebDataset.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/store/store.h"

namespace hone {

struct NamedImage {
  // "n01440764_10026.JPEG", its class "n01440764", the bytes of the file.
  std::string name, wordnet_id, bytes;
};

// Images are written in groups: a group is one class of the training images, or 1,000 validation images in order. The
// same images give the same bytes. Call begin_group, add (repeatedly), end_group for each group. Errors: those of the
// store.
class ImageSink {
 public:
  virtual ~ImageSink() = default;
  // Removes unfinished files of processes that were killed. Call it before the first group.
  virtual Status clean() = 0;
  virtual Status begin_group(const std::string& name) = 0;
  virtual Status add(const std::vector<NamedImage>& images) = 0;
  virtual Status end_group() = 0;  // when it returns, the images of the group are durable
};

// Writes split_folder/<class>/<name>, `writers` files at a time.
std::unique_ptr<ImageSink> make_folder_sink(std::string split_folder, int writers);
// Writes split_folder/<group>.tar. Each image has a .json file beside it whose member "label" is the class.
std::unique_ptr<ImageSink> make_shard_sink(std::string split_folder);

}  // namespace hone
