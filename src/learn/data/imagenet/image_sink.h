// Writes the prepared images of a split: into one folder for each class, or into tar archives of WebDataset.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/store/store.h"

namespace hone {

struct NamedImage {
  // The file name ("n01440764_10026.JPEG"), the class ("n01440764"), and the bytes of the file.
  std::string name, wordnet_id, bytes;
};

// Images are written in groups: a group is one class of the training images, or 1,000 validation images in order. The
// same images give files with the same bytes. For each group call begin_group once, add repeatedly, then end_group.
// Errors: those of the store.
class ImageSink {
 public:
  virtual ~ImageSink() = default;
  // Removes unfinished files of processes that were killed. Call it before the first group.
  virtual Status clean() = 0;
  // `name` is the name of the group: the class, or the number of the group of validation images ("0000").
  virtual Status begin_group(const std::string& name) = 0;
  virtual Status add(const std::vector<NamedImage>& images) = 0;
  virtual Status end_group() = 0;  // when it returns, the images of the group are durable
};

// Writes the file split_folder/<class>/<name> for each image, `writers` files at a time.
std::unique_ptr<ImageSink> make_folder_sink(std::string split_folder, int writers);
// Writes the archive split_folder/<group>.tar for each group. Each image has a .json file beside it, whose member
// "label" is the class.
std::unique_ptr<ImageSink> make_shard_sink(std::string split_folder);

}  // namespace hone
