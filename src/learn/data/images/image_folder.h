// Finds images in a folder. The folder either has one subfolder for each class (as ImageFolder of torchvision and
// `datasets`), or holds images to predict, which have no classes.
#pragma once

#include <optional>

#include "learn/data/images/image_listing.h"
#include "learn/data/images/image_rows.h"

namespace hone {

struct LabelledImages {
  ImageRows rows;
  // names[label] is the name of the class; empty: the rows have no labels.
  std::vector<std::string> names;
};

// The number of threads to use to list folders or archives at a path: 16 for a URL, since threads wait for the network;
// else 1.
int threads_to_list(std::string_view path);

// True for .jpg, .jpeg, .png and .webp in any case.
bool is_image_name(std::string_view name);

// Lists the images of a folder that has one subfolder for each class. The label of a class is its index in `names`;
// if `names` is empty, its index among the sorted names of the subfolders. Rows are sorted by label and file name.
// Works on any store, with one request for each folder. Files that are not images, and names that begin with a dot,
// are ignored. `listing` keeps the entries of folders for later runs; null: every folder is listed from the store.
// Errors: H2964 no subfolder, a class without images, a folder inside the folder of a class, or a class that `names`
// does not contain; those of the store.
Result<LabelledImages> list_classes(const std::string& folder,
                                    const std::vector<std::string>& names = {},
                                    ImageListing* listing = nullptr);
// Lists the images of the folder and of its subfolders, without labels. Errors: H2964 there is no image, or a subfolder
// has no image or contains a folder; those of the store.
Result<ImageRows> list_images(const std::string& folder);
// The path of the subfolder of `folder` that has the name of the split, such as "train"; "" if there is none. For the
// split "validation" the subfolder may also be named "val" or "validate". Errors: those of the store.
Result<std::string> split_folder(const std::string& folder, const std::string& split);

}  // namespace hone
