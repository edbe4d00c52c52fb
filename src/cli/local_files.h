// Files of this machine that are to be sent: a file, or all files below a folder, hashed. No ignore file is obeyed:
// what is named is what is sent. Symbolic links to files are followed, those to folders are not.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cas/blob_store.h"
#include "cli/api_client.h"
#include "cli/blob_upload.h"

namespace lathe::cli {

struct LocalFile {
  std::string path;  // below the folder; of a single file its name
  std::filesystem::path file;
  cas::BlobInfo blob;
  bool executable = false;
};

struct LocalFiles {
  bool is_folder = false;
  std::string name;              // the last part of the path
  std::vector<LocalFile> files;  // by path
};

base::Result<LocalFiles> read_local_files(const std::filesystem::path& path);
base::Result<UploadSummary> send_files(ApiClient& api, const LocalFiles& files);
// Sends the files and a manifest over them, under the folder's own name; the manifest's digest.
base::Result<base::Digest> send_tree(ApiClient& api, const LocalFiles& files);

}  // namespace lathe::cli
