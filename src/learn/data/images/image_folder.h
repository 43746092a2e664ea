// Folders of images: one folder a class (ImageFolder of torchvision and `datasets`), or images alone to predict.
#pragma once

#include <optional>

#include "learn/data/images/image_listing.h"
#include "learn/data/images/image_rows.h"

namespace hone {

struct LabelledImages {
  ImageRows rows;
  std::vector<std::string> names;  // of the classes, by label; empty: labels are not known
};

// Threads that list folders or archives at a path: several for a URL, since they wait for the store.
int threads_to_list(std::string_view path);

// True for .jpg, .jpeg, .png and .webp in any case.
bool is_image_name(std::string_view name);

// Class ids are the places of the sorted folder names, or of `names` if it is given; rows are sorted by class and
// file name. Works on any store; the store is asked once for each folder. Files of other kinds and names that begin with a dot
// are ignored. Errors: H2964 no folder of a class, a class without images, a folder in the folder of a class, a
// class that `names` lacks; those of the store. `listing`: null, or folders that were listed before.
Result<LabelledImages> list_classes(const std::string& folder,
                                    const std::vector<std::string>& names = {},
                                    ImageListing* listing = nullptr);
// The images of the folder, sorted, or of the folders in it; without labels. Errors: H2964 no image.
Result<ImageRows> list_images(const std::string& folder);
// The subfolder of a data set's folder that holds the split "train", "validation" (also "val" or "validate") or "test"; none: "".
Result<std::string> split_folder(const std::string& folder, const std::string& split);

}  // namespace hone
