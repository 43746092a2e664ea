// Targets of prepared images: a folder a class, or tar archives of WebDataset.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/store/store.h"

namespace hone {

struct NamedImage {
  std::string name, wordnet_id, bytes;  // "n01440764_10026.JPEG"
};

// A group is a class of the training images, or a run of validation images. The same images give the same bytes. Errors: those
// of the store.
class ImageSink {
 public:
  virtual ~ImageSink() = default;
  // Removes the remains of writers that were killed. Call it before the first group.
  virtual Status clean() = 0;
  virtual Status begin_group(const std::string& name) = 0;
  virtual Status add(const std::vector<NamedImage>& images) = 0;
  virtual Status end_group() = 0;  // after it the images of the group are durable
};

// split_folder/<class>/<name>; `writers` files at a time.
std::unique_ptr<ImageSink> make_folder_sink(std::string split_folder, int writers);
// split_folder/<group>.tar: each image with a .json file whose member "label" is its class.
std::unique_ptr<ImageSink> make_shard_sink(std::string split_folder);

}  // namespace hone
