// Finds the folders with images that hone ui can show as data. A "folder of classes" has one subfolder with images for
// each class. To be fast, the functions look only at the first 20 names of a folder to decide which kind it is.
#pragma once

#include <string>
#include <vector>

namespace hone {

// Whether `folder` is a folder of classes: a direct subfolder has images.
bool holds_classes(const std::string& folder);
// {folder} if `folder` is a folder of classes or has images itself; else the paths of its direct subfolders that are
// folders of classes.
std::vector<std::string> image_folders_in(const std::string& folder);

}  // namespace hone
