// Finds the folders of images that hone ui can show as data. A folder of classes has a folder of images for each class.
// To be fast, the functions decide from the first 20 names in a folder what kind of folder it is.
#pragma once

#include <string>
#include <vector>

namespace hone {

// Whether `folder` is a folder of classes: a folder directly in it has images.
bool holds_classes(const std::string& folder);
// {folder} if `folder` is a folder of classes or has images itself; else the paths of the folders of classes directly
// in it.
std::vector<std::string> image_folders_in(const std::string& folder);

}  // namespace hone
