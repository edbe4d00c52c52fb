"""Images of 2019: the names. They come with the feature 'images'.

Example: `from azureml.core.image import ContainerImage`
"""

from azureml._internal.later import later_class

ContainerImage = later_class("images", "ContainerImage")
Image = later_class("images", "Image")
