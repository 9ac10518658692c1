"""What people read: the text of a failure, the matrix, the timeline, the Allure report."""
