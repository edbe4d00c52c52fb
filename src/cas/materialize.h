// Writing a Tree into a folder: private copies with their exec bits and links. Every byte is checked against its
// digest, and no manifest, however hostile, makes it write outside the folder or more bytes than it announced.
// TreeWriter takes the blobs as a stream in any order (a pack from the server); materialize() pulls them from a source.
// Not thread-safe. After an error the folder is half written: remove it.
#pragma once

#include <filesystem>
#include <unordered_map>

#include "cas/blob_store.h"
#include "cas/pack.h"
#include "cas/tree.h"
#include "sys/file_system.h"

namespace lathe::cas {

class TreeWriter final : public BlobSink {
 public:
  // `folder` exists and is empty. The tree is checked here.
  static base::Result<std::unique_ptr<TreeWriter>> create(Tree tree, const std::filesystem::path& folder);

  // Each blob that must come, once.
  std::vector<BlobInfo> wanted() const;
  base::Result<void> begin(std::optional<base::Digest> expected) override;
  base::Result<void> write(std::string_view bytes) override;
  base::Result<BlobInfo> finish() override;
  // When all blobs have come: makes the links. Error(corrupt) when one is missing.
  base::Result<void> complete();

 private:
  TreeWriter(Tree tree, sys::File root) : tree_(std::move(tree)), root_(std::move(root)) {}
  base::Result<int> parent_of(std::string_view path);
  base::Result<sys::File> create_file(const TreeEntry& entry);
  base::Result<void> copy_to(const TreeEntry& entry, const sys::File& from);

  const Tree tree_;
  const sys::File root_;
  std::unordered_map<base::Digest, std::vector<std::size_t>> pending_;  // entries that wait for their bytes
  std::string parent_path_;
  sys::File parent_;  // the folder of the last file: the next one is often beside it

  std::vector<std::size_t> current_;  // entries of the blob between begin() and finish()
  sys::File file_;
  base::Sha256 hash_;
  std::uint64_t written_ = 0;
};

base::Result<void> materialize(const Tree& tree, const std::filesystem::path& folder, const BlobOpener& source);

}  // namespace lathe::cas
