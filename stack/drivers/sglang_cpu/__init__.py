"""What real SGLang needs to run on a machine without an accelerator. With a GPU none is used."""
