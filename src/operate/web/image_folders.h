// Folders of images among those that hone ui shows. Only the first names of each folder are looked at.
#pragma once

#include <string>
#include <vector>

namespace hone {

// Whether a folder in `folder` holds images: a folder a class.
bool holds_classes(const std::string& folder);
// `folder` itself if it holds classes or images, else the folders in it that hold classes.
std::vector<std::string> image_folders_in(const std::string& folder);

}  // namespace hone
